# SPDX-License-Identifier: GPL-2.0-only
"""This test will lose machines to what a fault of QEMU looks like, and to an int3 of
the guest's own, and find that only the first counts as QEMU's and is run once more."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batch import Batch, Command
from machine import statuses, watch
from support import Run

TCG = ("--accel", "tcg")  # with several host threads, as the fault needs them
FAULT = "a CPU executed an int3 that memory does not hold any more"


@pytest.mark.parametrize(("kind", "fault"), [("int3", ""), ("stale", FAULT)])
def test_an_int3_is_qemus_fault_if_memory_does_not_hold_it(
    kind: str, fault: str, splat: Path, machine: Run, tmp_path: Path
) -> None:
    result = tmp_path / "result.json"
    done = machine(
        *TCG,
        *("--result", str(result), "--share", f"{splat}:/mnt/splat"),
        *("--", "insmod", "/mnt/splat/splat.ko", f"kind={kind}"),
    )
    assert done.returncode == statuses.EXIT_LOST
    recorded = json.loads(result.read_text())
    assert (recorded["emulator"], recorded["starts"]) == (fault, 1)
    assert ("a fault of QEMU: " in done.stderr) == bool(fault)
    for shown in ("RIP: 0010:breakpoint+", "Code: ", "do_init_module+"):
        assert shown in done.stderr


def test_a_command_lost_to_qemu_runs_once_more_and_no_oftener(
    splat: Path, tmp_path: Path
) -> None:
    stale = "insmod /mnt/splat/splat.ko kind=stale"
    once = f"mkdir /mnt/seen/once 2>/dev/null || exit 0; {stale}"
    shares = (f"{splat}:/mnt/splat", f"{tmp_path}:/mnt/seen")
    machine = tuple(word for share in shares for word in ("--share", share))
    commands = [["sh", "-c", once], ["sh", "-c", stale], ["echo", "after"]]
    with pytest.warns(UserWarning, match="run once more") as warned:
        found = Batch(machine, "nothing", 60, "tcg").verdicts(
            [Command(words) for words in commands]
        )
    assert [one.status for one in found] == [0, None, 0]
    assert len(warned) == 2
    assert all(FAULT in str(one.message) for one in warned)


OOPS = """[    3.1] Oops: {kind}: 0000 [#1] PREEMPT SMP NOPTI
[    3.1] RIP: 0010:vfs_write+0x5/0x4f0
[    3.1] Code: {code}
[    3.1] RIP: 0033:0x7f6c6b92e240
[    3.1] Code: 48 8b 15 99 0b <48> 3d 01 f0 ff ff
"""


@pytest.mark.parametrize(
    ("kind", "code", "stale"),
    [
        ("int3", "f3 0f 1e fa 0f <1f> 44 00 00", True),
        ("int3", "f3 0f 1e fa cc <1f> 44 00 00", False),
        ("int3", "Unable to access opcode bytes at 0xffffffffc0395ff0.", False),
        ("0002", "f3 0f 1e fa 0f <1f> 44 00 00", False),
    ],
)
def test_what_was_not_read_is_not_excused(kind: str, code: str, stale: bool) -> None:
    assert watch.stale_int3(OOPS.format(kind=kind, code=code)) == stale


def test_an_int3_after_another_oops_is_not_excused() -> None:
    stale = OOPS.format(kind="int3", code="f3 0f 1e fa 0f <1f> 44 00 00")
    assert watch.stale_int3(stale)
    assert not watch.stale_int3(f"[    3.0] Oops: 0002 [#1] PREEMPT SMP\n{stale}")


def test_a_lost_machine_is_known_by_what_its_log_does_not_have() -> None:
    oops = OOPS.format(kind="0002", code="f3 <0f>").splitlines()
    console = "\n".join(["[ 2.5] before"] * 50 + oops + ["[ 3.2] after"] * 50)
    recorded = watch.last_words(console, watch.records("6,7,2600000,-;read"))
    shown = watch.excerpt(console, recorded)
    assert shown[: len(oops)] == oops
    assert shown[len(oops) :] == ["[ 3.2] after"] * (watch.MOST_SHOWN - len(oops))
    assert watch.excerpt("one\ntwo", []) == ["one", "two"]
    assert watch.last_words("one\n[ 0.5] two", []) == ["two"]
