# SPDX-License-Identifier: GPL-2.0-only
"""core: build the compiled tracer of bpf/core, on the host.

The image has no clang, and one program serves all kernels of an architecture. For
another than the host's, a cross compiler links it with the libraries of that one.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from driver import needs
from driver.project import PROJECT
from machine import cache, image
from machine.architectures import Architecture
from machine.recipe import Recipe
from writestall_base.errors import UserError

SOURCE = PROJECT / "bpf/core"
CALLS = PROJECT / "docs/calls.toml"
PROGRAM = "stalled-writes"
MAKES_BPF = ("clang", "bpftool")
LINKS = ("libbpf.a", "libelf.a", "pkg-config")
# The libraries of another architecture are of one Debian, like its QEMU.
LIBRARIES = "libbpf-dev,libelf-dev,zlib1g-dev,libc6-dev"


def _compiler(arch: Architecture) -> str:
    return "cc" if arch.is_host else f"{arch.gnu}-gcc"


def lacking(arch: Architecture) -> list[str]:
    """What this host lacks for building it."""
    known = {need.name: need.present for need in needs.NEEDS}
    wanted = (*MAKES_BPF, *(LINKS if arch.is_host else ("pkg-config",)))
    lacks = [name for name in wanted if not known[name]()]
    if not arch.is_host and not needs.on_path(_compiler(arch))():
        lacks.append(f"gcc-{arch.gnu}".replace("_", "-"))
    return lacks


def check(arch: Architecture) -> None:
    """Refuse a host that cannot build it."""
    if missing := lacking(arch):
        raise UserError(
            f"--engine core needs {', '.join(missing)} on this host, to build"
            f" bpf/core: ./writestall setup --tests installs it"
            + ("" if arch.is_host else ", except the cross compiler")
        )


def _sysroot(recipe: Recipe) -> Path:
    """The libraries and headers of another architecture; nothing runs there."""
    suite, of_arch = recipe.qemu_suite, image.foreign(recipe.arch)
    return image.rooted("sysroot", suite, LIBRARIES, *of_arch, variant="extract")


def build(recipe: Recipe) -> Path:
    """Return a folder with core/stalled-writes in it."""
    arch = recipe.arch
    check(arch)
    files = sorted(path for path in SOURCE.rglob("*") if path.is_file())
    names = [str(path.relative_to(SOURCE)) for path in files]
    versions = (("clang", "--version"), ("bpftool", "version"))
    tools = [
        subprocess.run(command, capture_output=True, check=True).stdout
        for command in (*versions, (_compiler(arch), "--version"))
    ]
    root = None if arch.is_host else _sysroot(recipe)
    more = [root.name] if root else []

    def make(result: Path) -> None:
        _make(result, _cross(arch, root) if root else [])

    key = cache.digest(*tools, *more, *names, *files, CALLS)
    return cache.build("core", key, make)


def _cross(arch: Architecture, root: Path) -> list[str]:
    """The words of make that compile for another architecture.

    -B: crt1.o is of the same C library as libc.a.
    """
    libraries = root / arch.libraries
    compiler = f"{_compiler(arch)} --sysroot={root} -B{libraries}"
    places = f"PKG_CONFIG_LIBDIR={libraries}/pkgconfig PKG_CONFIG_SYSROOT_DIR={root}"
    config = f"PKG_CONFIG=env {places} pkg-config"
    return [f"ARCH={arch.debian}", f"CC={compiler}", config]


def _make(result: Path, words: list[str]) -> None:
    (result / "core").mkdir(parents=True)
    made = result / "made"
    command = ["make", "-sC", str(SOURCE), f"BUILD={made}", *words]
    if subprocess.run(command, stdout=2, check=False).returncode:
        raise UserError("bpf/core does not compile: see the error above")
    (made / PROGRAM).rename(result / "core" / PROGRAM)
    shutil.rmtree(made)
