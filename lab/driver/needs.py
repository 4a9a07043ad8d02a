# SPDX-License-Identifier: GPL-2.0-only
"""needs: what the host must have, and the packages that provide it."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from machine.commands import search_path


def on_path(command: str) -> Callable[[], bool]:
    """Whether a command can be found, in sbin folders too."""
    return lambda: shutil.which(command, path=search_path()) is not None


def importable(module: str) -> Callable[[], bool]:
    return lambda: importlib.util.find_spec(module) is not None


def readable(*paths: str) -> Callable[[], bool]:
    return lambda: any(Path(path).exists() for path in paths)


def static(library: str) -> Callable[[], bool]:
    """Whether a library can be linked statically, on Debian or elsewhere."""
    machine = os.uname().machine
    folders = (f"/usr/lib/{machine}-linux-gnu", "/usr/lib64", "/usr/lib")
    return readable(*(f"{folder}/{library}" for folder in folders))


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


UIDMAP = ("uidmap", "shadow-utils", "shadow")
KEYRINGS = [
    f"/usr/share/keyrings/debian-archive-keyring.{end}" for end in ("gpg", "pgp")
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
NEEDS = (
    Need("mmdebstrap", "builds the image", on_path("mmdebstrap"), ("mmdebstrap",)),
    Need("apt-get", "is what mmdebstrap installs with", on_path("apt-get"), ("apt",)),
    Need(
        "Debian archive keys",
        "prove what was downloaded",
        readable(*KEYRINGS),
        ("debian-archive-keyring", "debian-keyring", "debian-archive-keyring"),
    ),
    Need("mke2fs", "makes the root disk", on_path("mke2fs"), ("e2fsprogs",)),
    Need("zstd", "unpacks kernels and their modules", on_path("zstd"), ("zstd",)),
    Need("setpriv", "ends QEMU with its parent", on_path("setpriv"), ("util-linux",)),
    Need(
        "unshare", "compiles in the image's root", on_path("unshare"), ("util-linux",)
    ),
    Need(
        "newuidmap",
        "lets a user build the image",
        on_path("newuidmap"),
        UIDMAP,
        rootless_only=True,
    ),
    VENV,
    Need(
        "shellcheck",
        "checks scripts",
        on_path("shellcheck"),
        ("shellcheck", "ShellCheck", "shellcheck"),
        group="test",
    ),
    Need(
        "newuidmap",
        "lets root test what a user does",
        on_path("newuidmap"),
        UIDMAP,
        group="test",
    ),
    Need(
        "clang", "compiles BPF and fuzzers", on_path("clang"), ("clang",), group="test"
    ),
    Need("bpftool", "makes skeletons", on_path("bpftool"), ("bpftool",), group="test"),
    Need(
        "libbpf.a",
        "loads BPF",
        static("libbpf.a"),
        ("libbpf-dev", "libbpf-static", "libbpf"),
        group="test",
    ),
    Need(
        "libelf.a",
        "reads BPF objects",
        static("libelf.a"),
        ("libelf-dev", "elfutils-libelf-devel-static", "libelf"),
        group="test",
    ),
    Need(
        "pkg-config",
        "finds libraries",
        on_path("pkg-config"),
        ("pkg-config", "pkgconf", "pkgconf"),
        group="test",
    ),
    Need("sparse", "checks kernel C", on_path("sparse"), ("sparse",), group="test"),
    Need(
        "libFuzzer",
        "looks for texts that break a parser",
        there_is(*LIBFUZZER),
        ("libclang-rt-dev", "compiler-rt", "compiler-rt"),
        group="test",
    ),
    Need(
        "chromium",
        "tests the report page",
        on_path("chromium"),
        ("chromium",),
        group="test",
    ),
)


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
