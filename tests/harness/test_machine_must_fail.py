# SPDX-License-Identifier: GPL-2.0-only
"""This test will break guests, and check that each failure is reported.

A test of the harness must show that it can fail. Each test here breaks a machine and
asserts that its verdict is the right kind of failure.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from batch import Batch, Command
from machine import image, initramfs, recipe, statuses
from support import EVERY, KERNELS, PROJECT, Run


def test_archive_is_a_cpio_that_busybox_reads() -> None:
    data = initramfs.archive({"bin/a": b"x" * 5, "b": b""}, ("bin",))
    busybox = image.tree(recipe.load()) / "usr/bin/busybox"
    listing = subprocess.run(
        [busybox, "cpio", "-t"], input=data, capture_output=True, check=False
    )
    assert listing.stdout.decode().split() == ["bin", "bin/a", "b"]


def test_status_and_output_are_those_of_the_command(machine: Run) -> None:
    """Whole, before the machine ends; what looks like a verdict is none."""
    say = """echo '{"status": 0}'; echo err >&2; seq 300000; exit 7"""
    done = machine("--", "sh", "-c", say)
    assert (done.returncode, done.stderr) == (7, "err\n")
    numbers = [str(number) for number in range(1, 300001)]
    assert done.stdout.splitlines() == ['{"status": 0}', *numbers]


def test_a_disk_left_stuck_hides_no_status(machine: Run) -> None:
    """sync(2) never returns there; the end of the machine does not wait for it."""
    stuck = (
        'dmsetup create stuck --table "0 $(blockdev --getsz /dev/vdb) linear /dev/vdb'
        ' 0" && dmsetup mknodes && mkfs.ext4 -q -F /dev/mapper/stuck &&'
        " mount /dev/mapper/stuck /mnt && echo x >/mnt/file &&"
        " dmsetup suspend --nolockfs --noflush stuck && exit 7"
    )
    done = machine("--timeout", "300", "--", "bash", "-c", stuck)
    assert done.returncode == 7
    assert "guest.sh: a disk is stuck" in done.stderr


def test_a_command_that_does_not_exist_is_a_failure(machine: Run) -> None:
    assert machine("--", "no-such-command").returncode == 127


@pytest.mark.parametrize("kernel", KERNELS if EVERY else KERNELS[-1:])
def test_a_panic_is_a_lost_machine(machine: Run, kernel: str) -> None:
    done = machine(
        "-k", kernel, "--", "sh", "-c", "echo ok; echo c >/proc/sysrq-trigger"
    )
    assert done.returncode == statuses.EXIT_LOST
    assert "Kernel panic" in done.stderr
    console = Path(done.stderr.splitlines()[-1].rpartition(": ")[2])
    assert "Call Trace:" in console.read_text()


def test_a_silent_power_off_is_a_lost_machine(machine: Run) -> None:
    done = machine("--", "sh", "-c", "echo ok; echo o >/proc/sysrq-trigger; sleep 60")
    assert done.returncode == statuses.EXIT_LOST
    assert "lost before its verdict" in done.stderr


def test_a_hang_meets_the_time_limit(machine: Run) -> None:
    done = machine("--timeout", "15", "--", "sh", "-c", "echo ok; sleep 1000")
    assert done.returncode == statuses.EXIT_TIMEOUT
    assert "the time limit passed" in done.stderr


@pytest.mark.parametrize(
    ("kind", "status", "said"),
    [("warn", statuses.EXIT_SPLAT, "WARNING: "), ("oops", statuses.EXIT_LOST, "Oops")],
)
def test_a_splat_fails_a_run_that_ended_well(
    machine: Run, splat: Path, kind: str, status: int, said: str
) -> None:
    command = f"insmod /mnt/splat/splat.ko kind={kind}; exit 0"
    done = machine("--share", f"{splat}:/mnt/splat", "--", "sh", "-c", command)
    assert done.returncode == status
    assert said in done.stderr


@pytest.mark.parametrize(
    ("expected", "status"), [("some", 0), ("other", statuses.EXIT_SPLAT)]
)
def test_a_line_of_level_warning_fails_a_run_unless_it_is_expected(
    machine: Run, expected: str, status: int, tmp_path: Path
) -> None:
    """One of level notice does not; console and log are kept, however it ends."""
    result = tmp_path / "result.json"
    say = "echo '<5>hello' >/dev/kmsg; echo '<4>something' >/dev/kmsg; exit 0"
    options = ["--expect", expected, "--result", str(result)]
    done = machine(*options, "--", "sh", "-c", say)
    assert done.returncode == status, done.stderr
    recorded = json.loads(result.read_text())
    assert recorded["complaints"] == ["something"] * (status != 0)
    console = Path(recorded["console"])
    assert console.parent.name == ("failed" if status else "ended")
    kmsg = console.with_name(console.name.replace(".console.log", ".kmsg"))
    assert ";something\n" in kmsg.read_text()
    assert "something" in console.read_text()


WITHOUT = pytest.mark.on_demand("an excuse for another is one more than none")
HANG = (
    "echo 2 >/proc/sys/kernel/hung_task_timeout_secs;"
    " insmod /mnt/splat/splat.ko kind=hang"
)


@pytest.mark.parametrize(
    ("excuse", "status"),
    [
        pytest.param(None, statuses.EXIT_SPLAT, marks=WITHOUT),
        (r"\[splat\]", 0),
        ("other", statuses.EXIT_SPLAT),
    ],
)
def test_a_hung_task_fails_a_run_unless_it_was_held_on_purpose(
    machine: Run, splat: Path, excuse: str | None, status: int
) -> None:
    options = ["--excuse", excuse] if excuse else []
    share = f"{splat}:/mnt/splat"
    done = machine(*options, "--share", share, "--", "sh", "-c", f"{HANG}; exit 0")
    assert done.returncode == status, done.stderr


def test_the_result_file_separates_machine_from_command(
    machine: Run, tmp_path: Path
) -> None:
    """It is shared under a name with colons and commas, like a variant's run."""
    result = tmp_path / "kafka:xfs,7.2" / "result.json"
    result.parent.mkdir()
    (result.parent / "here").touch()
    share = f"{result.parent}:/mnt/out"
    command = ["sh", "-c", "test -e /mnt/out/here || exit 2; exit 1"]
    machine("--result", str(result), "--share", share, "--", *command)
    recorded = json.loads(result.read_text())
    assert (recorded["outcome"], recorded["status"]) == ("ended", 1)
    assert int(recorded["qemu"].split(".")[0]) >= recipe.load().qemu_minimum
    assert recorded["accel"] in ("kvm", "tcg")


def _children(pid: int) -> list[int]:
    """QEMUs that boot a kernel and whose parent is that process."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            booting = b"\0-kernel\0" in stat.with_name("cmdline").read_bytes()
        except OSError:
            continue
        if booting and int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def _first_qemu(runner: subprocess.Popen[str] | subprocess.Popen[bytes]) -> int:
    deadline = time.monotonic() + 60
    while not (qemus := _children(runner.pid)):
        assert time.monotonic() < deadline, "QEMU never started"
        time.sleep(0.05)
    return qemus[0]


@pytest.mark.parametrize(
    ("begun", "status", "starts"), [(False, 5, 2), (True, statuses.EXIT_LOST, 1)]
)
def test_only_a_qemu_that_broke_before_the_command_is_started_again(
    begun: bool, status: int, starts: int, tmp_path: Path
) -> None:
    """After the start of the command, a restart would hide what happened."""
    result = tmp_path / "result.json"
    command = [sys.executable, str(PROJECT / "vm/vm"), "run", "--result", str(result)]
    command += ["--", "sh", "-c", "echo begun; sleep 5; exit 5"]
    # A QEMU that breaks by itself would count, too: none did on one host thread.
    one_thread = os.environ | {"ACCEL": "icount"}
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, text=True, env=one_thread) as runner:
        qemu = _first_qemu(runner)
        if begun:
            assert runner.stdout is not None
            assert runner.stdout.readline() == "begun\n"
        os.kill(qemu, signal.SIGABRT)
        assert runner.wait(120) == status
    assert json.loads(result.read_text())["starts"] == starts


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_qemu_dies_with_its_parent(how: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, str(PROJECT / "vm/vm"), "run", "--", "sleep", "1000"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.DEVNULL
    ) as runner:
        qemu = _first_qemu(runner)
        runner.send_signal(how)
        assert runner.wait(20) != 0
    deadline = time.monotonic() + 20
    while _alive(qemu):
        assert time.monotonic() < deadline, "QEMU outlived vm/vm run"
        time.sleep(0.1)
    if how != signal.SIGKILL:
        assert not list(tmp_path.iterdir()), "scratch files were left behind"


def _alive(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-k", "9.9", "--", "true"], "unknown kernel '9.9': this recipe has"),
        (["--share", "/nowhere:/mnt/x", "--", "true"], "/nowhere is not a folder"),
        (["--share", "/tmp:/mnt", "--", "true"], "hide the machine's own /mnt/writ"),
        (["--share", "/tmp:/usr/../", "--", "true"], "hide the machine's own /bin"),
        (["--disk", "3X", "--", "true"], "'3X' is not a size: write 512M or 2G"),
        ([], "give a command after --, or --shell"),
    ],
)
def test_bad_arguments_get_one_line_and_no_machine(
    machine: Run, arguments: list[str], said: str
) -> None:
    done = machine(*arguments)
    assert done.returncode == statuses.EXIT_SETUP
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_a_command_that_has_nowhere_to_start_says_so(machine: Run) -> None:
    done = machine("--cwd", "/nowhere", "--", "true")
    assert done.returncode == statuses.EXIT_SETUP
    assert "no folder /nowhere in the machine to start in: name another by --cwd" in (
        done.stderr
    )


def test_each_command_of_a_batch_gets_its_own_verdict() -> None:
    complain = "echo '<0>BUG: made up' >/dev/kmsg"
    crash = "echo crashing; echo c >/proc/sysrq-trigger"
    # What vm/guest.sh runs after the last command.
    trap = "printf '#!/bin/sh\necho b >/proc/sysrq-trigger' >/usr/bin/sync"
    commands = [
        ["true"],
        ["sh", "-c", complain],
        ["sleep", "60"],
        ["sh", "-c", crash],
        ["echo", "after"],
        ["sh", "-c", trap],
    ]
    found = Batch((), excused="nothing", limit_s=10).verdicts(
        [Command(words) for words in commands]
    )
    assert [one.status for one in found] == [0, 0, 124, None, 0, statuses.EXIT_LOST]
    assert [one.good for one in found] == [True, False, False, False, True, False]
    assert found[1].complaints == ["BUG: made up"]
    assert "crashing" in found[3].output
    assert any("Kernel panic" in line for line in found[3].complaints)
    assert found[4].output == "after\n"


def test_a_batch_shows_what_has_ended(tmp_path: Path) -> None:
    """Also what ended since the last look, when the machine is gone, and its last line
    if it failed."""
    recorded: list[str] = []
    batch = Batch((), excused="nothing", limit_s=10, tell=recorded.append)
    (tmp_path / "0.status").write_text("0 3\n")
    (tmp_path / "1.status").write_text("7 1\n")
    (tmp_path / "1.out").write_text("began\nFAIL: why\n")
    commands = [Command(["true"], name=name) for name in ("a.sh", "b.py", "c.sh")]
    with subprocess.Popen(["true"]) as process:
        batch._follow(process, tmp_path, commands)
    assert recorded == ["1/3 a.sh: ok, 3 s", "2/3 b.py: status 7 FAIL: why, 1 s"]


def test_a_batch_without_a_machine_says_why() -> None:
    (found,) = Batch(("--kernel", "0.0"), excused="nothing", limit_s=10).verdicts(
        [Command(["true"])]
    )
    assert not found.good
    assert "0.0" in found.output


def test_packages_lie_above_the_image_and_leave_no_trace(machine: Run) -> None:
    """A JRE links manual pages, whose folders the image leaves out."""
    command = "java -version 2>&1 && getent hosts localhost && rm /usr/bin/java"
    for _ in range(2):
        done = machine("--packages", "default-jre-headless", "--", "sh", "-c", command)
        assert done.returncode == 0, done.stderr
        assert "OpenJDK" in done.stdout
    assert machine("--", "java", "-version").returncode == 127


def test_the_cause_of_a_failed_layer_is_the_last_line(machine: Run) -> None:
    done = machine("--packages", "no-such-package-anywhere", "--", "true")
    assert done.returncode == statuses.EXIT_SETUP
    last = done.stderr.strip().splitlines()[-1]
    assert "no-such-package-anywhere" in last
    assert last.endswith("E: Unable to locate package no-such-package-anywhere")
