# SPDX-License-Identifier: GPL-2.0-only
"""find: find the parts of a kernel that the image does not have.

`--kernel` takes the tree that a kernel was built in, its output folder where that is
another one (make O=), or a kernel that the host has installed, /boot/vmlinuz-RELEASE.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from machine import cache
from machine.own import kconfig
from writestall_base import elf
from writestall_base.errors import UserError
from writestall_base.releases import version

MODULES = Path("/lib/modules")  # of the host's kernels
BZIMAGE = "arch/x86/boot/bzImage"
RELEASE = "include/config/kernel.release"
AUTO = "include/config/auto.conf"
# Lists of modules that Kbuild leaves at the top of a tree (Makefile, modules_install).
ORDER, BUILTIN = "modules.order", "modules.builtin"
# What `make` leaves in a tree for those who use it.
MADE = (
    *(BZIMAGE, RELEASE, AUTO, "vmlinux", "System.map", "Module.symvers"),
    *(ORDER, BUILTIN),
)
SANITIZERS = {"KASAN", "KCSAN"}
# The compiled tracer needs the kernel's types (bpf/core/prerequisites.c).
CORE_NEEDS, CORE_SINCE = "DEBUG_INFO_BTF", (5, 10)


@dataclass(frozen=True)
class OwnKernel:
    """A kernel outside the image, by the host's paths of its parts."""

    given: Path  # what --kernel takes
    release: str
    vmlinuz: Path
    options: frozenset[str]  # set in its configuration
    build: Path  # where a module is built against it
    source: Path
    compiler: str | None  # by the name that its headers call; None: gcc
    vmlinux: Path | None = None  # None: packed in vmlinuz
    modules: Path | None = None  # None: where they were built, below `build`

    @property
    def has_core(self) -> bool:
        """Whether the compiled tracer works on it."""
        return version(self.release) >= CORE_SINCE and CORE_NEEDS in self.options

    @property
    def checks_itself(self) -> bool:
        """Whether it is several times slower, because it watches its own memory."""
        return bool(SANITIZERS & self.options)

    def has_built_in(self, module: str) -> bool:
        """Whether a module of that name is part of the kernel itself."""
        listed = (self.modules or self.build) / BUILTIN
        return any(Path(line).stem == module for line in listed.read_text().split())

    @property
    def identity(self) -> str:
        """What its content is, for keys of the cache: the build id where it has one."""
        linked = elf.build_id(self.vmlinux) if self.vmlinux else None
        return f"{self.given} {linked or cache.digest(self.vmlinuz)}"

    @property
    def folders(self) -> tuple[Path, ...]:
        """What a compiler reads; each refers to the others by these very paths."""
        linked = (path.resolve() for path in self.build.iterdir() if path.is_symlink())
        all_of_it = {self.build, self.source, *filter(Path.is_dir, linked)}
        return tuple(
            path
            for path in sorted(all_of_it)
            if not any(path.is_relative_to(other) for other in all_of_it - {path})
        )


def named(text: str) -> bool:
    """Whether --kernel names one by its path, not by a name of vm/kernels.toml."""
    return "/" in text


@lru_cache
def find(text: str) -> OwnKernel:
    """The kernel at that path; refuse one that cannot be the machine's."""
    path = Path(text).absolute()
    if path.is_dir():
        return _tree(path.resolve())
    if path.is_file() and path.name.startswith("vmlinuz-"):
        return _installed(path)
    raise UserError(
        f"kernel {text}: want the tree that it was built in, or /boot/vmlinuz-RELEASE"
    )


def _tree(tree: Path) -> OwnKernel:
    """A tree that `make` has been through."""

    def part(name: str) -> Path:
        if not (tree / name).is_file():
            raise UserError(f"kernel {tree} has no {name}: build it there with make")
        return tree / name

    config = part(".config")
    kconfig.check(config)
    made = {name: part(name) for name in MADE}
    options = kconfig.built(config, made[AUTO])
    return OwnKernel(
        given=tree,
        release=made[RELEASE].read_text().strip(),
        vmlinuz=made[BZIMAGE],
        options=options,
        build=tree,
        source=(tree / "source").resolve() if (tree / "source").exists() else tree,
        compiler=kconfig.compiler(config),
        vmlinux=made["vmlinux"],
    )


def _installed(vmlinuz: Path) -> OwnKernel:
    """A kernel of the host with its modules and headers."""
    release = vmlinuz.name.removeprefix("vmlinuz-")
    modules = (MODULES / release).resolve()
    config = vmlinuz.with_name(f"config-{release}")
    for part, what in (
        (config, "configuration"),
        (modules / "modules.dep", "modules"),
        (modules / "build/Makefile", f"headers: install linux-headers-{release}"),
    ):
        if not part.exists():
            raise UserError(f"kernel {vmlinuz} has no {part}, its {what}")
    build = (modules / "build").resolve()
    source = modules / "source"
    return OwnKernel(
        given=vmlinuz,
        release=release,
        vmlinuz=vmlinuz,
        options=kconfig.check(config),
        build=build,
        source=source.resolve() if source.exists() else build,
        compiler=kconfig.compiler(config),
        modules=modules,
    )
