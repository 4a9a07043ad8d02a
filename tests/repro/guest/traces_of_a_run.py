# SPDX-License-Identifier: GPL-2.0-only
"""traces_of_a_run: list what a run has left behind on its machine."""

import re
import tempfile
from pathlib import Path

Settings = tuple[list[str], list[str]]  # values of SYSCTLS, swap files
SYSCTLS = ("dirty_writeback_centisecs", "dirty_expire_centisecs")
PROCESSES = re.compile(rb"latwriter|stapio|staprun|stalled-writes")
MODULES = re.compile(r"^(biodelay|scsi_debug|stap_|stalled_writes)", re.MULTILINE)


def settings() -> Settings:
    """What a scenario changes and restores: its sysctls, and the swap in use."""
    sysctls = [Path("/proc/sys/vm", name).read_text() for name in SYSCTLS]
    _, *swaps = Path("/proc/swaps").read_text().splitlines()
    return sysctls, [line.split()[0] for line in swaps]


def processes() -> list[bytes]:
    """Command lines of what a run starts."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        program = line.split(b"\0")[0].rpartition(b"/")[2]
        if PROCESSES.search(program):
            found.append(line)
    return found


def leftovers(before: Settings) -> list[object]:
    """What is left, compared with settings() `before`; empty is good."""
    mounts = Path("/proc/mounts").read_text().splitlines()
    found: list[object] = [line for line in mounts if "writestall-mnt-" in line]
    found += MODULES.findall(Path("/proc/modules").read_text())
    found += processes()
    for folder in (tempfile.gettempdir(), "/dev/shm"):
        for name in ("writestall-mnt-*", "writestall-run-*"):
            found += Path(folder).glob(name)
    found += Path("/sys/block").glob("loop*/loop")
    found += Path("/sys/fs/cgroup").glob("writestall-*")
    names = Path("/sys/block").glob("dm-*/dm/name")
    found += [name for name in names if name.read_text().startswith("writestall-")]
    found += Path("/dev/mapper").glob("writestall-*")
    now = settings()
    if now != before:
        found.append(f"settings changed: {before} to {now}")
    return found
