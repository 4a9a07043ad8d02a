# SPDX-License-Identifier: GPL-2.0-only
"""This test will check the parts of the drill-down: trees that add up, paths, calls
read from machine code, and the classes of waits."""

from __future__ import annotations

import os
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drill import callees, cli, rounds, sleeps, text, waits
from drill.rounds import Round
from drill.text import merged, one_line

RECURSION = {
    "ev": "call",
    "t_ns": 1_000,
    "dur_ns": 9_000_000,
    "tid": 7,
    "comm": "gclog",
    "function": "vfs_write",
    "path": "lab/gc.log",
    "left_out": 0,
    "inside": [
        {"function": "f", "parent": 0, "calls": 2, "dur_ns": 8_000_000},
        {"function": "f", "parent": 1, "calls": 2, "dur_ns": 5_000_000},
        {"function": "g", "parent": 2, "calls": 1, "dur_ns": 4_000_000},
        {"function": "g", "parent": 0, "calls": 1, "dur_ns": 500_000},
    ],
}


def test_a_function_that_calls_itself_counts_once() -> None:
    line = one_line(RECURSION)
    assert line == "vfs_write took 9000 us in total: g=4500, f=8000"
    line = one_line(RECURSION, 0.6)
    assert line == "vfs_write took 9000 us in total: 1 below 60.0%, f=8000"


def test_nesting_stays() -> None:
    root = merged([RECURSION, RECURSION], "vfs_write")
    assert (root.calls, root.ns) == (2, 18_000_000)
    inner = root.children["f"].children["f"]
    assert (inner.calls, inner.ns) == (4, 10_000_000)
    assert (inner.children["g"].calls, root.children["g"].ns) == (2, 1_000_000)


@st.composite
def calls(draw: st.DrawFn) -> dict[str, Any]:
    """A slow call with a random tree in which children are never longer than their
    parent."""
    left = [draw(st.integers(0, 10**10))]
    whole = left[0]
    inside: list[dict[str, Any]] = []
    for _ in range(draw(st.integers(0, 12))):
        parent = draw(st.integers(0, len(left) - 1))
        ns = draw(st.integers(0, left[parent]))
        left[parent] -= ns
        left.append(ns)
        name = draw(st.sampled_from("abcd"))
        inside.append({"function": name, "parent": parent, "calls": 1, "dur_ns": ns})
    found = dict(RECURSION)
    found.update(dur_ns=whole, inside=inside)
    return found


@given(st.lists(calls(), min_size=1, max_size=4))
def test_the_printed_tree_adds_up(slow: list[dict[str, Any]]) -> None:
    """Each time is the self time and those one level below, as far as printed."""
    rows = text.tree(merged(slow, "vfs_write")).splitlines()[1:]
    below: dict[int, float] = {}
    for row in reversed(rows):
        ms, own_ms, name = float(row[:12]), float(row[23:35]), row[46:]
        depth = (len(name) - len(name.lstrip())) // 2
        assert ms == pytest.approx(own_ms + below.pop(depth + 1, 0.0), abs=0.01)
        below[depth] = below.get(depth, 0.0) + ms


def _block(*names: str, t_ns: int = 2_000, tid: int = 7) -> dict[str, Any]:
    stack = [f"{name}+0x1a" for name in names]
    return {"ev": "block", "t_ns": t_ns, "dur_ns": 5, "tid": tid, "kstack": stack}


SLEEPER = ("__schedule", "io_schedule", "folio_wait_bit_common", "__filemap_get_folio")


def test_a_path_goes_from_the_root_to_who_sleeps() -> None:
    stack = _block(*SLEEPER, "ext4_da_write_begin [ext4]", "vfs_write", "ksys_write")
    found = sleeps.path(stack["kstack"], "vfs_write")
    assert found[1:] == ("__filemap_get_folio", "folio_wait_bit_common")
    assert sleeps.path(stack["kstack"], "vfs_read") == ()


@pytest.mark.parametrize(
    ("frames", "found", "cls"),
    [
        (
            ("__wait_on_bit_lock", "__lock_page", "pagecache_get_page"),
            ("pagecache_get_page", "__lock_page"),
            "page_lock",
        ),
        (
            ("__wait_on_bit", "wait_on_page_bit", "ext4_da_write_begin [ext4]"),
            ("ext4_da_write_begin [ext4]", "wait_on_page_bit"),
            "page_writeback",
        ),
    ],
)
def test_a_wait_before_4_14_has_the_functions_of_its_time(
    frames: tuple[str, ...], found: tuple[str, ...], cls: str
) -> None:
    woken = ("schedule", "schedule_timeout", "io_schedule_timeout", "bit_wait_io")
    stack = _block(*woken, *frames, "vfs_write")["kstack"]
    assert sleeps.path(stack, "vfs_write") == found
    assert waits.wait(stack).startswith(f"{cls}: ")


def test_only_sleeps_inside_a_slow_call_count() -> None:
    inside = _block(*SLEEPER, "vfs_write")
    others = [_block("vfs_write", tid=8), _block("vfs_write", t_ns=9_001_001)]
    slept = sleeps.paths([RECURSION, inside, *others], "vfs_write")
    assert dict(slept) == {("__filemap_get_folio", "folio_wait_bit_common"): 5}


def test_the_answer_names_the_lock() -> None:
    last = Round(("f",), [RECURSION, _block(*SLEEPER, "vfs_write")])
    last.events[1]["dur_ns"] = 4_000_000
    answer = text.answer([Round(()), last], "vfs_write")
    assert "rounds: 2" in answer
    assert "asleep 44.4 % in folio_wait_bit_common < __filemap_get_folio" in answer
    assert "\n  page_lock: mm/filemap.c" in answer
    assert "gclog/7 lab/gc.log: vfs_write took 9000 us" in answer


def test_without_the_rules_the_stack_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waits, "CLASSIFIES", False)
    last = Round(("f",), [RECURSION, _block(*SLEEPER, "vfs_write")])
    last.events[1]["dur_ns"] = 4_000_000
    answer = text.answer([last], "vfs_write")
    assert "in folio_wait_bit_common < __filemap_get_folio\n\n" in answer
    assert "page_lock" not in answer


@pytest.mark.parametrize("found", [False, True])
def test_missing_rules_are_said_at_the_start(
    found: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(waits, "CLASSIFIES", found)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(rounds, "auto", lambda *_: [Round(())])
    assert cli.main(["--auto", "-p", str(os.getpid())]) == 1
    assert ("PYTHONPATH" in capsys.readouterr().err) is not found


def test_calls_are_read_from_x86_code() -> None:
    code = b"\x90\xe8" + struct.pack("<i", 0x100) + b"\xe9" + struct.pack("<i", -0x80)
    found = list(callees.targets(code, 0x1000, "x86_64"))
    assert found == [0x1000 + 6 + 0x100, 0x1000 + 11 - 0x80]


def test_calls_are_read_from_arm64_code() -> None:
    words = (0xD503201F, 0x94000004, 0x17FFFFFF)  # nop; bl +16; b -4
    code = struct.pack("<III", *words)
    assert list(callees.targets(code, 0x1000, "aarch64")) == [0x1014, 0x1004]


@given(st.binary(max_size=64))
def test_a_call_is_found_behind_any_code(code: bytes) -> None:
    code += bytes(-len(code) % 4)
    start, end = 0x81000000, 0x81000000 + len(code)
    x86 = code + b"\xe8" + struct.pack("<i", 0x100)
    arm64 = code + struct.pack("<I", 0x94000004)  # bl +16
    assert end + 5 + 0x100 in callees.targets(x86, start, "x86_64")
    assert end + 16 in callees.targets(arm64, start, "aarch64")
