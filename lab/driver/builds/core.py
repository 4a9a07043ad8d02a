# SPDX-License-Identifier: GPL-2.0-only
"""core: build the compiled tracer of bpf/core, on the host.

The image has no clang, and one program serves all kernels.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from driver import needs
from driver.project import PROJECT
from machine import cache
from writestall_base.errors import UserError

SOURCE = PROJECT / "bpf/core"
CALLS = PROJECT / "docs/calls.toml"
PROGRAM = "stalled-writes"
TOOLS = ("clang", "bpftool", "libbpf.a", "libelf.a", "pkg-config")
VERSIONS = (("clang", "--version"), ("bpftool", "version"), ("cc", "--version"))


def lacking() -> list[str]:
    """What this host lacks for building it."""
    known = {need.name: need for need in needs.NEEDS}
    return [name for name in TOOLS if not known[name].present()]


def check() -> None:
    """Refuse a host that cannot build it."""
    if missing := lacking():
        raise UserError(
            f"--engine core needs {', '.join(missing)} on this host, to build"
            f" bpf/core: ./writestall setup --tests installs it"
        )


def build() -> Path:
    """Return a folder with core/stalled-writes in it."""
    check()
    files = sorted(path for path in SOURCE.rglob("*") if path.is_file())
    names = [str(path.relative_to(SOURCE)) for path in files]
    tools = [
        subprocess.run(command, capture_output=True, check=True).stdout
        for command in VERSIONS
    ]
    return cache.build("core", cache.digest(*tools, *names, *files, CALLS), _make)


def _make(result: Path) -> None:
    (result / "core").mkdir(parents=True)
    made = result / "made"
    command = ["make", "-sC", str(SOURCE), f"BUILD={made}"]
    if subprocess.run(command, stdout=2, check=False).returncode:
        raise UserError("bpf/core does not compile: see the error above")
    (made / PROGRAM).rename(result / "core" / PROGRAM)
    shutil.rmtree(made)
