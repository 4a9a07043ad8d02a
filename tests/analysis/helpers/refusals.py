# SPDX-License-Identifier: GPL-2.0-only
"""refusals: run a command that must be refused."""

from __future__ import annotations

import pytest

from writestall.cli.main import main

Capture = pytest.CaptureFixture[str]


def refused(argv: list[str], capsys: Capture) -> str:
    """The one line a command ends with."""
    assert main(argv) == 2
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    return line
