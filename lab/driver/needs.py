# SPDX-License-Identifier: GPL-2.0-only
"""needs: what the host must have, and the packages that provide it."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from machine.commands import search_path


def on_path(command: str) -> Callable[[], bool]:
    """Whether a command can be found, in sbin folders too."""
    return lambda: shutil.which(command, path=search_path()) is not None


def importable(module: str) -> Callable[[], bool]:
    return lambda: importlib.util.find_spec(module) is not None


def static(library: str) -> Callable[[], bool]:
    """Whether a library can be linked statically, on Debian or elsewhere."""
    machine = os.uname().machine
    folders = (f"lib/{machine}-linux-gnu", "lib64", "lib")
    return there_is(*(f"usr/{folder}/{library}" for folder in folders))


def there_is(*patterns: str) -> Callable[[], bool]:
    """Whether a file below the root matches one of them."""
    return lambda: any(path for name in patterns for path in Path("/").glob(name))


@dataclass(frozen=True)
class Need:
    """One thing; `packages` names it for apt, dnf and pacman in that
    order, once where they agree.
    """

    name: str
    why: str
    present: Callable[[], bool]
    packages: tuple[str, ...]
    group: str = "lab"
    rootless_only: bool = False

    def package(self, manager: int) -> str:
        """Its package's name for the manager with that place in the order."""
        return self.packages[manager if len(self.packages) > 1 else 0]


def _program(name: str, why: str, *packages: str, **more: Any) -> Need:
    """A program on PATH, whose package has its name where no other is given."""
    return Need(name, why, on_path(name), packages or (name,), **more)


def _library(name: str, why: str, *packages: str) -> Need:
    return Need(name, why, static(name), packages)


UIDMAP = ("uidmap", "shadow-utils", "shadow")
LIBELF = ("libelf-dev", "elfutils-libelf-devel-static", "libelf")
KEYRINGS = [
    f"usr/share/keyrings/debian-archive-keyring.{end}" for end in ("gpg", "pgp")
]
LIBFUZZER = [
    f"usr/lib/{folder}clang/*/lib/**/libclang_rt.fuzzer*.a"
    for folder in ("llvm*/lib/", "")
]
VENV = Need(
    "python3-venv",
    "holds the analysis' libraries",
    importable("ensurepip"),
    ("python3-venv", "python3-libs", "python"),
)
LAB = (
    _program("mmdebstrap", "builds the image"),
    _program("apt-get", "is what mmdebstrap installs with", "apt"),
    Need(
        "Debian archive keys",
        "prove what was downloaded",
        there_is(*KEYRINGS),
        ("debian-archive-keyring", "debian-keyring", "debian-archive-keyring"),
    ),
    _program("mke2fs", "makes the root disk", "e2fsprogs"),
    _program("zstd", "unpacks kernels and their modules"),
    _program("setpriv", "ends QEMU with its parent", "util-linux"),
    _program("unshare", "compiles in the image's root", "util-linux"),
    _program("mount", "compiles in it, too", "mount", "util-linux", "util-linux"),
    _program("newuidmap", "lets a user build the image", *UIDMAP, rootless_only=True),
    VENV,
)
TEST = (
    _program("shellcheck", "checks scripts", "shellcheck", "ShellCheck", "shellcheck"),
    _program("newuidmap", "lets root test what a user does", *UIDMAP),
    _program("clang", "compiles BPF and fuzzers"),
    _program("bpftool", "makes skeletons"),
    _library("libbpf.a", "loads BPF", "libbpf-dev", "libbpf-static", "libbpf"),
    _library("libelf.a", "reads BPF objects", *LIBELF),
    _program("pkg-config", "finds libraries", "pkg-config", "pkgconf", "pkgconf"),
    _program("sparse", "checks kernel C"),
    Need(
        "libFuzzer",
        "looks for texts that break a parser",
        there_is(*LIBFUZZER),
        ("libclang-rt-dev", "compiler-rt", "compiler-rt"),
    ),
    _program("chromium", "tests the report page"),
)
NEEDS = (*LAB, *(replace(need, group="test") for need in TEST))


def missing(groups: tuple[str, ...]) -> list[Need]:
    """The needs of these groups that this host does not meet."""
    root = os.geteuid() == 0
    return [
        need
        for need in NEEDS
        if need.group in groups
        and not (root and need.rootless_only)
        and not need.present()
    ]
