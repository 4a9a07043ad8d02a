# SPDX-License-Identifier: GPL-2.0-only
"""This test will start the programs on a CPU architecture that the scripts do not
support, and find one line that names it and a status that is not 0."""

from __future__ import annotations

import os
from typing import Any

import pytest

from drill import cli as drilldown
from launcher import cli as trace

ARM = os.uname_result(("Linux", "host", "6.12.1", "#1", "aarch64"))


@pytest.mark.parametrize(
    ("main", "words"),
    [
        (trace.main, ["stalled_writes"]),
        (trace.main, ["--engine", "stap", "slow_writes"]),
        (drilldown.main, ["--auto", "-p", "1"]),
    ],
)
def test_another_processor_is_named(
    main: Any,
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(os, "uname", lambda: ARM)
    assert main(words) == 2
    out, said = capfd.readouterr()
    assert out == ""
    assert said.count("\n") == 1
    assert ": this processor is aarch64, and the scripts know " in said
