#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will load the module with one mistake at a time, and show that each is
refused with a distinct errno and one line, and nothing stays loaded.

Arguments: the module, a scratch disk.
"""

# expects: biodelay: .*

import ctypes
import errno
import os
import platform
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import lab

MODULE, DISK = sys.argv[1:3]
NAME = Path(DISK).name
ROOT_DISK = "vda"  # of vm/'s machines
LOADED = Path("/sys/module/biodelay")
ENABLED = LOADED / "parameters/enabled"
FINIT_MODULE = {"x86_64": 313, "aarch64": 273}[platform.machine()]
LIBC = ctypes.CDLL(None, use_errno=True)

GOOD = (f"device={NAME}", "delay_us=1000")
ON_ROOT = f"device={ROOT_DISK}"
HERE = f"device={NAME}"
NO_DEVICE, ROOTS = "no such block device", "the root file system: refused"
NO_GLOB, OPS = "not a glob", "ops: known are"
NO_NUMBER, RANGE = "not a whole number", "must be 1 to 30000000"

# errno, words of the one line, parameters
MISTAKES = (
    ("ENODEV", NO_DEVICE, "device=nosuch"),
    ("ENODEV", NO_DEVICE, "device=4095:1"),
    ("ENODEV", NO_DEVICE, "device=-1:0"),
    ("ENODEV", NO_DEVICE, "device="),
    ("ENOTBLK", "not a block device", "device=null"),
    ("EPERM", ROOTS, ON_ROOT),
    ("EPERM", ROOTS, ON_ROOT, f"force={NAME}"),
    ("EINVAL", NO_GLOB, *GOOD, "submitter="),
    ("EINVAL", NO_GLOB, *GOOD, "submitter=jbd2[/*"),
    ("EINVAL", NO_GLOB, *GOOD, "submitter=jbd2\\"),
    ("EINVAL", NO_GLOB, *GOOD, f"submitter={'x' * 64}*"),
    ("ENAMETOOLONG", "longer than any comm", *GOOD, "submitter=sixteen-letters-"),
    ("EBADRQC", OPS, *GOOD, "ops=write,erase"),
    ("EBADRQC", OPS, *GOOD, "ops="),
    ("EBADRQC", OPS, *GOOD, "ops=read,"),
    ("ENOTSUP", "mode: known are", *GOOD, "mode=fast"),
    ("EINVAL", NO_NUMBER, HERE, "delay_us=300ms"),
    ("EINVAL", NO_NUMBER, HERE, "delay_us=-1"),
    ("EINVAL", NO_NUMBER, HERE, "delay_us="),
    ("ERANGE", RANGE, HERE, "delay_us=0"),
    ("ERANGE", RANGE, HERE, "delay_us=30000001"),
    ("ERANGE", RANGE, HERE, "delay_us=99999999999999999999999"),
    ("ERANGE", "records_per_cpu", *GOOD, "records_per_cpu=1"),
    ("EDESTADDRREQ", "no device", "enabled=1", "delay_us=1000"),
    ("EDOM", "no delay", "enabled=1", HERE),
)
SWAP_BYTES = 4 << 20
MKFS = ("mkfs.ext4 -q -F", *[lab.xfs()] * lab.mounts("xfs"))
SWAPPING = ("ETXTBSY", "active swap: refused", *GOOD)


def load(*parameters: str) -> str:
    """Load the module; return the name of the errno, or `0`."""
    descriptor = os.open(MODULE, os.O_RDONLY)
    try:
        words = " ".join(parameters).encode()
        failed = LIBC.syscall(FINIT_MODULE, descriptor, words, 0)
        return errno.errorcode[ctypes.get_errno()] if failed else "0"
    finally:
        os.close(descriptor)


def unload() -> None:
    subprocess.run(["rmmod", "biodelay"], check=True)


class Log:
    """The module's lines in the kernel log from now on."""

    def __init__(self) -> None:
        self._kmsg = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self._kmsg, 0, os.SEEK_END)

    def lines(self) -> list[str]:
        """New lines, without the taint of loading."""
        found = []
        while True:
            try:
                found.append(os.read(self._kmsg, 8192).decode().partition(";")[2])
            except BlockingIOError:
                break
        return [x for x in found if "biodelay: " in x and "taint" not in x]


def refused(log: Log, want: str, words: str, *parameters: str) -> None:
    got, lines = load(*parameters), log.lines()
    assert not LOADED.exists(), f"{parameters}: loaded"
    assert got == want, f"{parameters}: {got}, not {want}"
    assert len(lines) == 1, f"{parameters}: {lines}"
    assert words in lines[0], f"{parameters}: {lines[0]} has no '{words}'"
    print(f"{got:16} {' '.join(parameters)}")


def refused_while_swapping(log: Log, target: str) -> None:
    subprocess.run(["mkswap", target], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["swapon", target], check=True)
    try:
        refused(log, *SWAPPING)
    finally:
        subprocess.run(["swapoff", target], check=True)


def refused_while_swapping_to_a_file(log: Log, mkfs: str) -> None:
    """Refused while the file is swap, and not before or after that."""
    subprocess.run([*mkfs.split(), DISK], check=True)
    with tempfile.TemporaryDirectory() as mount:
        subprocess.run(["mount", DISK, mount], check=True)
        try:
            file = Path(mount, "swap")
            file.write_bytes(bytes(SWAP_BYTES))
            file.chmod(0o600)
            for part in (taken, partial(refused_while_swapping, log, str(file)), taken):
                part()
        finally:
            subprocess.run(["umount", mount], check=True)


def taken() -> None:
    assert load(*GOOD) == "0", "refused without swap"
    unload()


def arming_refused() -> None:
    """Write to the only parameter that can be written later, neither yes nor no."""
    assert load(*GOOD) == "0", "refused after swapoff"
    try:
        for value in ("2", "yes-please", "\n", "-1"):
            try:
                ENABLED.write_text(value)
            except OSError:
                continue
            raise AssertionError(f"enabled took {value!r}")
        status = Path("/sys/kernel/debug/biodelay/status").read_text()
        assert ["armed", "0"] in map(str.split, status.splitlines()), status
    finally:
        unload()


def main() -> None:
    log = Log()
    assert load(*GOOD) == "0", "refused without a mistake"  # leaves the taint behind
    unload()
    log.lines()
    for mistake in MISTAKES:
        refused(log, *mistake)
    refused_while_swapping(log, DISK)
    for mkfs in MKFS:
        refused_while_swapping_to_a_file(log, mkfs)
    log.lines()
    arming_refused()
    forced = load(ON_ROOT, f"force={ROOT_DISK}", "delay_us=1")
    assert forced == "0", f"refused although forced by name: {forced}"
    unload()


main()
