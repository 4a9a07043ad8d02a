#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will start the tracer of bpf/core where its kernel or its rights do not do,
to read one sentence with the remedy, and with the three capabilities that suffice."""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import lab

LEAST = "bpf,perfmon,syslog"
# Maps are charged to the cgroup since Linux 5.11 ("bpf: switch to memcg-based memory
# accounting"), before that to a limit of locked memory, which must be raised.
MEMORY_IS_CHARGED = 5, 11
BEGIN = b'{"ev":"begin"'
# What is put over what the kernel shows, and the sentence that must follow.
SHOWN = {
    "/sys/kernel/btf": "this kernel has no BTF: boot one with CONFIG_DEBUG_INFO_BTF",
    "/sys/kernel/security/lockdown": "lockdown=confidentiality keeps BPF from reading"
    " the kernel's memory: boot with lockdown=integrity",
}
HELD = {
    "chown": "CAP_BPF and CAP_PERFMON are missing: run it as root on the host",
    "bpf,perfmon": "/proc/kallsyms has no addresses for this process: add CAP_SYSLOG",
}


def with_rights(names: str) -> list[str]:
    """A command in front of the program: root has what its bounding set leaves."""
    kept = ",".join(f"+{name}" for name in names.split(","))
    return ["setpriv", f"--bounding-set=-all,{kept}"]


def refuses(command: list[str], message: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = done.stderr.splitlines()
    lab.expect(done.returncode == 1, f"{command} ended with {done.returncode}: {lines}")
    lab.expect(
        len(lines) == 1 and message in lines[0], f"{message!r} is not in {lines}"
    )
    lab.expect(not done.stdout, f"{command} printed {done.stdout}")


def says_nothing_is_in_its_way(program: str) -> None:
    """--check, as root on a kernel that does."""
    found = json.loads(lab.run(program, "--check"))
    lab.expect(found["missing"] == [], f"--check says {found}")


def hidden(program: str, place: str, folder: Path) -> list[str]:
    """The program, which sees something else at that place."""
    source = folder / Path(place).name
    if Path(place).is_dir():
        source.mkdir()
    else:
        source.write_text("none integrity [confidentiality]\n")
    words = ["mount", "--bind", str(source), place]
    script = f"{shlex.join(words)} && exec {shlex.quote(program)}"
    return ["unshare", "--mount", "sh", "-c", script]


def works(command: list[str]) -> None:
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        line = process.stdout.readline()
        process.send_signal(signal.SIGINT)
        last = process.stdout.read().splitlines()[-1:]
    lab.expect(line.startswith(BEGIN), f"{command} began with {line!r}")
    lab.expect(process.returncode == 0, f"{command} ended with {process.returncode}")
    lab.expect(bool(last) and b'"ev":"end"' in last[0], f"it ended with {last}")


def test(options: argparse.Namespace) -> None:
    program = lab.parts(lab.CORE, lab.STALLS, options.modules)[1]
    for held, message in HELD.items():
        refuses([*with_rights(held), program], message)
    with tempfile.TemporaryDirectory() as folder:
        for place, message in SHOWN.items():
            if Path(place).exists():
                refuses(hidden(program, place, Path(folder)), message)
    says_nothing_is_in_its_way(program)
    more = "" if lab.release() >= MEMORY_IS_CHARGED else ",sys_resource"
    works([*with_rights(LEAST + more), program])


if __name__ == "__main__":
    sys.exit(lab.main(test))
