# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare the drill-down's text on arguments with what addr2line and
SystemTap printed, and check that missing debuginfo is one line before anything is
compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from drill import arguments
from drill.debuginfo import ANSWER, Debuginfo, Place, levels
from support import PROJECT

# addr2line -a -f -i on Linux 6.12's vmlinux, at __filemap_get_folio+0x267 and one more.
ANSWERS = """0xffffffff81328077
__folio_lock
debian/build/build_amd64_none_amd64/mm/filemap.c:1638
folio_lock
debian/build/build_amd64_none_amd64/include/linux/pagemap.h:1158
folio_lock
debian/build/build_amd64_none_amd64/include/linux/pagemap.h:1154
__filemap_get_folio
debian/build/build_amd64_none_amd64/mm/filemap.c:1892
0xffffffff814912b6
__mark_inode_dirty
debian/build/build_amd64_none_amd64/fs/fs-writeback.c:2574 (discriminator 1)
"""
FOLIO, DIRTY = "__filemap_get_folio+0x268", "__mark_inode_dirty+0x57"
# Of a real run, Linux 6.12.
VALUES = "handle=0xffff88800473dc08 jh=0xffff88800474b528 force_copy=0x0"
MEMBERS = "handle={<union>={...}, .h_ref=1, .h_...} jh=ERROR force_copy=0"
MADE = {
    "ev": "arguments",
    "t_ns": 1_000,
    "dur_ns": 9_000_000,
    "tid": 7,
    "pid": 6,
    "comm": "gclog",
    "asleep_t_ns": 2_000,
    "functions": [
        {"function": "__folio_lock", "calls": 1, "values": "folio=?", "members": ""},
        {
            "function": "do_get_write_access",
            "calls": 2,
            "values": VALUES,
            "members": MEMBERS,
        },
    ],
    "left_out": 0,
}
CALL = {"ev": "call", "t_ns": 1_000, "dur_ns": 9_000_000, "tid": 7, "path": "lab/gc"}
STACK = ["schedule+0x27", "io_schedule+0x46", "do_get_write_access+0x241 [jbd2]"]
BLOCK = {"ev": "block", "t_ns": 2_000, "dur_ns": 8_000_000, "tid": 7}
BLOCK |= {"kstack": [*STACK, FOLIO, "vfs_write+0x28c", "ksys_write+0x6d"]}


class Known(Debuginfo):
    """What the debuginfo of a kernel says about these stacks."""

    def __init__(self) -> None:
        pass

    def places(self, frames: Iterable[str]) -> dict[str, list[Place]]:
        folio, _ = ANSWER.findall(ANSWERS)
        return {f: levels(folio if f == FOLIO else "", f) for f in frames}


def test_inlined_functions_stand_before_who_has_them() -> None:
    folio, dirty = ANSWER.findall(ANSWERS)
    assert levels(folio, FOLIO) == [
        Place("__folio_lock", "", "mm/filemap.c:1638"),
        Place("folio_lock", "", "linux/pagemap.h:1158"),
        Place("__filemap_get_folio"),
    ]
    assert levels(dirty, DIRTY) == [Place("__mark_inode_dirty")]


def test_a_frame_that_addr2line_does_not_know_is_itself() -> None:
    folio, _ = ANSWER.findall(ANSWERS)
    jbd2 = "do_get_write_access.isra.0+0x241 [jbd2]"
    for answer in ("", "??\n??:0\n", folio):
        assert levels(answer, jbd2) == [Place("do_get_write_access", "jbd2")]
    assert levels("", "0xffffffffc0123456") == []


def test_words_are_those_of_the_build() -> None:
    assert Place("f").word == "f"
    assert Place("f", "jbd2", "linux/wait_bit.h:101").word == (
        "jbd2:f@linux/wait_bit.h:101"
    )


def test_the_innermost_functions_of_the_stacks_are_wanted() -> None:
    assert arguments.wanted([CALL, BLOCK], "vfs_write", Known()) == [
        "jbd2:do_get_write_access?",
        "__folio_lock@mm/filemap.c:1638?",
        "folio_lock@linux/pagemap.h:1158?",
        "__filemap_get_folio?",
    ]


@pytest.mark.parametrize(
    ("values", "members", "said"),
    [
        (VALUES, MEMBERS, "handle=0xffff88800473dc08 {<union>={...}, .h_ref=1, .h_...}"
         ", jh=0xffff88800474b528, force_copy=0"),
        ("len=0x258 ppos=0xffffc900004f7bf8", "len=600 ppos=-60473134318600",
         "len=600, ppos=0xffffc900004f7bf8"),
        ("bit=0x17 word=0xffff888004746d68", "bit=23 word=18446612682144771432",
         "bit=23, word=0xffff888004746d68"),
        ("folio=?", "folio=?", "folio=?"),
        ("a=0x1 flags=0x808", "a={.b=1, .flags=3, <union>={...} flags=20",
         "a=0x1 {.b=1, .flags=3, <union>={...}}, flags=0x808"),
        ("func=0xffffffffc04191a0 line=0x180d", 'func="" line',
         "func=0xffffffffc04191a0, line=0x180d"),
        ("a=0x1 b=0x2", "a={.c=0xff", "a=0x1 {.c=0xff...}, b=0x2"),
        ("", "", ""),
    ],
)  # fmt: skip
def test_each_value_is_said_once(values: str, members: str, said: str) -> None:
    assert arguments.merged(values, members, set()) == said


def test_a_structure_is_shown_once() -> None:
    seen: set[str] = set()
    assert "{" in arguments.merged(VALUES, MEMBERS, seen)
    assert "{" not in arguments.merged(VALUES, MEMBERS, seen)


def test_who_stood_on_the_stack_is_said() -> None:
    said = arguments.of_slowest([CALL, BLOCK, MADE], "vfs_write", Known())
    assert said.splitlines() == [
        "gclog/7 lab/gc: asleep 8.0 of 9.0 ms in",
        f"  do_get_write_access({arguments.merged(VALUES, MEMBERS, set())})",
        "  __folio_lock(folio=?)  (inlined)",
    ]


def test_without_debuginfo_all_are_said_that_a_module_was_made_for() -> None:
    said = arguments.of_slowest([CALL, BLOCK, MADE], "vfs_write", None).splitlines()
    assert said[1] == "  __folio_lock(folio=?)"
    assert said[2].startswith("  do_get_write_access(handle=")
    assert arguments.of_slowest([CALL, BLOCK], "vfs_write", None) == ""


def test_the_event_is_the_contract_s() -> None:
    schema = json.loads((PROJECT / "docs/events.schema.json").read_text())
    contract = Draft202012Validator(schema)
    assert contract.is_valid(MADE)
    assert not contract.is_valid(MADE | {"functions": None})


# The program as root, on a kernel without debuginfo; it starts no other.
REFUSED = """
import os, subprocess, sys
from drill import cli, debuginfo
os.geteuid = lambda: 0
subprocess.Popen = None
debuginfo.DEBUG = debuginfo.Path(sys.argv[1])
sys.exit(cli.main(["--auto", "--arguments", *sys.argv[2:]]))
"""


def refused(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", REFUSED, str(folder), *words]
    path = {"PYTHONPATH": f"{PROJECT}/base:{PROJECT}/trace"}
    return subprocess.run(
        command, env=os.environ | path, capture_output=True, text=True, check=False
    )


def test_without_debuginfo_it_names_the_package(tmp_path: Path) -> None:
    for how in (("-p", "1"), ("--", "true")):
        done = refused(tmp_path, *how)
        assert done.returncode == 1
        assert done.stderr.startswith("drilldown: no debuginfo of kernel ")
        assert done.stderr.count("\n") == 1
        assert done.stderr.endswith("-dbg\n")


def row(**more: Any) -> dict[str, Any]:
    return {**MADE, **more}


def test_the_slowest_three_are_said() -> None:
    events: list[dict[str, Any]] = []
    for number in range(5):
        same = {"t_ns": 10 + number, "dur_ns": number}
        asleep = {**BLOCK, "t_ns": 100 + number}
        events += [{**CALL, **same}, asleep, row(**same, asleep_t_ns=100 + number)]
    said = arguments.of_slowest(events, "vfs_write", None)
    assert said.count("asleep") == arguments.MAX_CALLS
