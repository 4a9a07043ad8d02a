# SPDX-License-Identifier: GPL-2.0-only
"""This test will assemble the entry of held tasks, and check that its text has the
section symbol without which objtool before 5.7 writes no ORC table."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support import PROJECT

# What the entry needs of <linux/linkage.h>.
LINKAGE = """
#define ENTRY(name) .globl name; name:
#define ENDPROC(name) .type name, @function; .size name, . - name
"""
SECTION = re.compile(r"^\s*\d+: 0+\s+0 SECTION LOCAL\s+DEFAULT\s+(\d+)", re.MULTILINE)
TEXT = re.compile(r"^\s*\[\s*(\d+)\] \.text\s", re.MULTILINE)


@pytest.mark.skipif(not shutil.which("readelf"), reason="no readelf (binutils)")
def test_the_text_has_a_symbol(tmp_path: Path) -> None:
    header = tmp_path / "linux/linkage.h"
    header.parent.mkdir()
    header.write_text(LINKAGE)
    made = str(tmp_path / "entry.o")
    source = str(PROJECT / "kmod/hook_entry_x86_64.S")
    options = ["-m64", "-DBIODELAY_PROBED=probed", f"-I{tmp_path}", "-c", "-o"]
    subprocess.run(["gcc", *options, made, source], check=True)
    command = ["readelf", "--wide", "--sections", "--symbols", made]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    text = TEXT.search(printed)
    assert text is not None, printed
    assert text[1] in SECTION.findall(printed), printed
