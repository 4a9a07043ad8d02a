# SPDX-License-Identifier: GPL-2.0-only
"""test_headers: the command in each script's header, with what old kernels need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support import PROJECT

SCRIPTS = sorted((PROJECT / "stap").glob("*.stp"))
OLD = "-DSTAPCONF_PR33574_PNO_TYPE"


def words(script: Path, release: str) -> list[str]:
    plain = [sys.executable, str(PROJECT / "tests/scripts/plain.py")]
    return subprocess.check_output([*plain, str(script), release], text=True).split()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.stem))
def test_old_kernels_get_what_the_header_adds_for_them(script: Path) -> None:
    old, new = words(script, "5.10.0"), words(script, "5.11.0")
    assert OLD in old and OLD not in new
    assert [word for word in old if word != OLD] == new
