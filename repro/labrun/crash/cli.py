# SPDX-License-Identifier: GPL-2.0-only
"""cli: compare what a file system keeps after a reset with what it had promised.

`write` appends records to two files, one of them fsynced, until the machine is cut: its
host does that if the machine has a virtio port for it, as the lab's have
(vm/machine/run.py, cut_power()); else it resets itself without a sync (sysrq b:
drivers/tty/sysrq.c, sysrq_handle_reboot()). A file on the host has what was
acknowledged by then. `check`, in the next machine, lets the file system recover as at
boot, and compares.

The disk is the machine's, or is delayed by the rules of a scenario, whose sysctls are
set too. Where nothing takes writes from it between the two machines
(lab/driver/volatile.py), it keeps every completed one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from labrun.comparison import matrix
from labrun.comparison.matrix import Option
from labrun.crash import records
from labrun.crash.records import Promise
from labrun.injectors.biodelay import Biodelay
from labrun.scenario import modes, reading
from labrun.scenario.keys import Scenario
from labrun.scenario.rule import MODES
from labrun.setup import disk, filesystem, tuning
from labrun.setup.disk import Disks
from writestall_base.command_line import Parser
from writestall_base.errors import EXIT_COMPLETE, StepError, UserError
from writestall_base.process import tool

FILES = ("plain", "synced")
INTERVAL_S = 0.005
SYNC_EVERY = 10  # records of the second file
LONGEST_S = 3600
RESET = Path("/proc/sysrq-trigger")
PORTS, PORT, DEVICES = Path("/sys/class/virtio-ports"), "cut", Path("/dev")
# What runs at boot before the mount (systemd-fsck-root.service(8)); fsck.xfs(8) and
# fsck.btrfs(8) do nothing.
FSCK = {"ext4": ["e2fsck", "-p"], "f2fs": ["fsck.f2fs", "-a"]}
# What reads the whole file system afterwards, and changes nothing.
VERIFY = {
    "ext4": ["e2fsck", "-f", "-n"],
    "xfs": ["xfs_repair", "-n"],
    "btrfs": ["btrfs", "check", "--readonly"],
    "f2fs": ["fsck.f2fs", "--dry-run"],
}


def _parser() -> Parser:
    parser = Parser(
        "repro/crash", "Show what a file system keeps when its machine is reset."
    )
    add = parser.add_argument
    add("phase", choices=("list", "write", "check"))
    add("options", metavar="A,B", nargs="?", default="", help="of repro/matrix.toml")
    add("--disk", metavar="DEV", help="scratch disk; its data is lost")
    add("--journal-disk", metavar="DEV", help="second scratch disk, if needed")
    add("--scenario", metavar="FILE", type=Path, help="use its rules and its sysctls")
    add("--mode", choices=MODES, help="how biodelay delays, instead of the rules'")
    add("--build", metavar="DIR", type=Path, help="folder of biodelay.ko")
    add("--promises", metavar="FILE", type=Path, help="file that survives the reset")
    add("--kept", metavar="FILE", type=Path, help="file for the result of check")
    add("--seconds", metavar="S", type=_seconds, default=10.0, help="to the reset")
    add(
        "--cut-this-machine",
        action="store_true",
        help="reset this machine at once; unsaved data is lost",
    )
    return parser


def _seconds(text: str) -> float:
    """A time up to an hour, with or without decimals."""
    good = re.fullmatch(r"\d{1,4}(\.\d{1,3})?", text, re.ASCII)
    if not good or not 0 < float(text) <= LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text!r}: want 0.001 to {LONGEST_S}")
    return float(text)


def chosen(words: str) -> list[Option]:
    """Return the options with these names or file systems, tmpfs left out."""
    known = [one for one in matrix.options()[0] if one.filesystem.type != "tmpfs"]
    return matrix.choose(known, [word for word in words.split(",") if word])


@contextmanager
def _mounted(option: Option, path: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="writestall-mnt-") as target:
        tool(filesystem.mount_argv(option.filesystem, path, target))
        try:
            yield Path(target)
        finally:
            tool(["umount", target], filesystem.UMOUNT_TIMEOUT_S)


def _write(option: Option, asked: argparse.Namespace) -> None:
    """Append until the machine resets."""
    if not asked.cut_this_machine:
        raise UserError("write resets this machine: give --cut-this-machine")
    found, disks = _scenario(asked), _disks(asked)
    for argv in filesystem.mkfs_argvs(
        option.filesystem, asked.disk, asked.journal_disk
    ):
        tool(argv, filesystem.MKFS_TIMEOUT_S)
    with _mounted(option, asked.disk) as target:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        files = [os.open(target / name, flags, 0o600) for name in FILES]
        os.sync()
        promises = os.open(asked.promises, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        if found:
            _delay(found, disks, asked.build)
        if os.fork() == 0:
            time.sleep(asked.seconds)
            _cut()
        _append(files, promises)


def _cut() -> None:
    """Have the host cut the power, or reset where it does not offer that."""
    for name in PORTS.glob("*/name"):
        if name.read_text().strip() == PORT:
            (DEVICES / name.parent.name).write_text("cut")
            time.sleep(LONGEST_S)
    RESET.write_text("b")


def _scenario(asked: argparse.Namespace) -> Scenario | None:
    """Return the scenario of --scenario, if any."""
    if not asked.scenario:
        return None
    if not asked.build:
        raise UserError("--scenario needs --build, folder of biodelay.ko")
    return modes.applied(reading.load(asked.scenario)[0], asked.mode)


def _disks(asked: argparse.Namespace) -> Disks:
    """Return the disks; refuse those that carry data."""
    journal = asked.journal_disk and disk.inspect(asked.journal_disk, wipe=False)
    return Disks(disk.inspect(asked.disk, wipe=False), journal or None)


def _delay(found: Scenario, disks: Disks, built: Path) -> None:
    """Set up the delays; nothing is undone, since the machine resets."""
    for key, value in found.sysctl.items():
        tuning.sysctl_path(key).write_text(str(value))
    for argv in Biodelay(found, disks, built, False).load_commands():
        tool(argv)


def _append(files: list[int], promises: int) -> None:
    number = synced = 0
    while True:
        now_ns = time.monotonic_ns()
        block = records.record(number, now_ns)
        for file in files:
            os.write(file, block)
        number += 1
        os.pwrite(promises, records.PROMISED.pack(number, synced, now_ns), 0)
        if number % SYNC_EVERY == 0:
            os.fsync(files[1])
            synced = number
            os.pwrite(promises, records.PROMISED.pack(number, synced, now_ns), 0)
        time.sleep(INTERVAL_S)


def _check(option: Option, asked: argparse.Namespace) -> None:
    """Write what the files kept, as JSON."""
    promised = asked.promises.read_bytes()
    written, synced, t_ns = records.PROMISED.unpack(promised)
    promises = (Promise(written, 0, t_ns), Promise(written, synced, t_ns))
    found: dict[str, object] = {"option": option.name, "what": option.what}
    scenario = _scenario(asked)
    found["disk"] = scenario.purpose if scenario else "as the machine has it"
    found["fsck"] = _fsck(option, asked.disk)
    with _mounted(option, asked.disk) as target:
        for name, promise in zip(FILES, promises, strict=True):
            path = target / name
            data = path.read_bytes() if path.exists() else b""
            found[name] = asdict(records.judge(data, promise))
    found["damage"] = _damage(option, asked.disk)
    part = asked.kept.with_suffix(".part")
    part.write_text(json.dumps(found, indent=1) + "\n")
    part.replace(asked.kept)


def _fsck(option: Option, path: str) -> str | None:
    """Run fsck; return its last line or why it failed, None where there is no fsck."""
    argv = FSCK.get(option.filesystem.type)
    if argv is None:
        return None
    try:
        return tool([*argv, path], filesystem.MKFS_TIMEOUT_S).strip().split("\n")[-1]
    except StepError as failed:
        return str(failed)


def _damage(option: Option, path: str) -> str | None:
    """Read the file system, unmounted again; return what is wrong with it, if
    anything."""
    try:
        tool([*VERIFY[option.filesystem.type], path], filesystem.MKFS_TIMEOUT_S)
    except StepError as failed:
        return str(failed)
    return None


def _command(asked: argparse.Namespace) -> int:
    options = chosen(asked.options)
    if asked.phase == "list":
        print("\n".join(option.name for option in options))
        return EXIT_COMPLETE
    if len(options) != 1 or not (asked.disk and asked.promises and asked.kept):
        raise UserError("name one option, --disk, --promises and --kept")
    (_write if asked.phase == "write" else _check)(options[0], asked)
    return EXIT_COMPLETE


def main() -> int:
    """Run one phase on one option, or list the options; return the exit status."""
    return _parser().carry_out(_command)
