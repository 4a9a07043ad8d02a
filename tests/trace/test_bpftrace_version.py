# SPDX-License-Identifier: GPL-2.0-only
"""This test will ask old and new versions of bpftrace whether they read the scripts."""

from __future__ import annotations

from pathlib import Path

import pytest

from launcher import bpftrace
from launcher.errors import TraceError


def _installed(folder: Path, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "bpftrace"
    program.write_text(f"#!/bin/sh\necho {shown}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


@pytest.mark.parametrize("version", ["0.17.0", "0.23.2", "0.26.9"])
def test_one_that_cannot_read_the_scripts_is_refused(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _installed(tmp_path, f"bpftrace v{version}", monkeypatch)
    with pytest.raises(TraceError, match=f"bpftrace {version} is too old.* 0.27"):
        bpftrace.version()


@pytest.mark.parametrize("version", ["0.27.0", "0.28.0-rc1", "1.0.0"])
def test_others_are_named(
    version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _installed(tmp_path, f"bpftrace v{version}", monkeypatch)
    assert bpftrace.version().startswith(version.partition("-")[0])
