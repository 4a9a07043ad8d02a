#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will take away what a recording needs, one thing at a time, and find one
line that names it and the remedy, and a status that is not 0."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import lab

WRITESTALL = lab.PROJECT / "writestall"
RECORD = f"{sys.executable} {WRITESTALL} record"
RELEASE = os.uname().release
BTF = lab.TYPES.parent
FOREIGN = "setpriv --reuid=65534 --regid=65534 --clear-groups"
WITHOUT_RIGHTS = "setpriv --bounding-set=-all --inh-caps=-all"
HIDDEN = "unshare --mount sh -c 'mount -t tmpfs tmpfs {} && exec {}'"
CONTAINED = "unshare --pid --fork --mount-proc"
PID_NAMESPACES = Path("/proc/self/ns/pid").exists()  # CONFIG_PID_NS
TOO_OLD = f"it needs Linux 5.10 or later, and this is {RELEASE}"


def core(said: str) -> str:
    """What the compiled tracer says, which looks at the release before the rest."""
    return said if lab.release() >= (5, 10) else TOO_OLD


# What takes it away, and what is said.
REFUSED = {
    f"{FOREIGN} {RECORD}": "record: needs root; run it with sudo",
    f"{WITHOUT_RIGHTS} {RECORD}": core(
        "CAP_BPF and CAP_PERFMON are missing: run it as root on the host, or in a"
        " container that has both (--cap-add)"
    )
    + "; stap: CAP_SYS_MODULE is missing",
    HIDDEN.format(
        BTF if BTF.exists() else "/srv", f"{RECORD} --engine core"
    ): "--engine core: "
    + core("this kernel has no BTF: boot one with CONFIG_DEBUG_INFO_BTF"),
    HIDDEN.format("/lib/modules", f"{RECORD} --engine stap"): "--engine stap: there are"
    f" no headers of {RELEASE}: install linux-headers-{RELEASE}",
    f"PATH=/none {RECORD} --engine core": "stalled-writes is missing: install the"
    " package writestall-tracers",
    f"{RECORD} --engine bpftrace": "unknown 'bpftrace': it was removed; use core",
    f"PATH=/none {RECORD} --engine stap": "staprun is missing: install SystemTap",
    f"{CONTAINED} {RECORD} -p 1": "this container counts its own"
    " processes: choose by --path or --device",
    f"{RECORD} -p 4194304": "--pid 4194304: no such process; ps -e lists them",
    f"{RECORD} --path /dev/shm": "it is on a tmpfs, which is on no disk",
    f"{RECORD} --path /none": "--path /none: No such file or directory",
    f"{RECORD} --device /dev/null": "no block device; give one, or MAJ:MIN",
    f"{RECORD} -o {WRITESTALL}": "writestall: File exists; name another with -o",
    f"{RECORD} -- no-such-command": "no-such-command: no such command",
}


def refused(command: str, said: str, given: dict[str, str]) -> None:
    """Run it, and check its one line."""
    words = ["sh", "-c", command]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            words, cwd=folder, env=given, capture_output=True, text=True, check=False
        )
        lab.expect(not any(Path(folder).iterdir()), f"{command} left files")
    lines = done.stderr.splitlines()
    lab.expect(len(lines) == 1 and said in lines[0], f"{command}: {done.stderr}")
    lab.expect(done.returncode == 2, f"{command}: ended with {done.returncode}")
    lab.expect(done.stdout == "", f"{command} printed {done.stdout}")


def test(options: argparse.Namespace) -> None:
    for command, said in REFUSED.items():
        if command.startswith(CONTAINED) and not PID_NAMESPACES:
            print(f"no namespaces of pids in this kernel: not asked: {said}")
            continue
        refused(command, said, lab.environment(options.modules))
        print(f"refused: {said}", flush=True)


if __name__ == "__main__":
    sys.exit(lab.main(test))
