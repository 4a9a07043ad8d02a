# SPDX-License-Identifier: GPL-2.0-only
"""conftest: --durations for the scripts that share a machine."""

from __future__ import annotations

import pytest

from batch import TOOK_S


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the slowest scripts, in seconds of their machine."""
    most = terminalreporter.config.option.durations
    took = [
        (value, report.nodeid)
        for report in terminalreporter.getreports("passed")
        for name, value in report.user_properties
        if name == TOOK_S and report.when == "call"
    ]
    if most is None or not took:
        return
    terminalreporter.section("slowest in the guest")
    for seconds, name in sorted(took, reverse=True)[: most or None]:
        terminalreporter.line(f"{seconds:7} s {name}")
