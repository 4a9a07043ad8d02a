# SPDX-License-Identifier: GPL-2.0-only
"""test_kernel_trees: find one's own kernel by its path, or refuse it in one line."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import support  # noqa: F401 (puts vm/ on the path)
from machine import cli, image, initramfs, recipe
from machine.own import find, kconfig, modules
from writestall_base import elf
from writestall_base.errors import UserError

RELEASE = "4.19.108"
BUILD_ID = bytes(range(20))
Tree = Callable[..., Path]


def _vmlinux(build_id: bytes = BUILD_ID) -> bytes:
    """An ELF file with a segment of two notes, the second of them the build id."""
    other = struct.pack("<III4s4s", 4, 2, 1, b"Xen\0", b"ab")
    body = other + struct.pack("<III4s", 4, len(build_id), 3, b"GNU\0") + build_id
    header = bytearray(b"\x7fELF\x02\x01" + bytes(58))
    struct.pack_into("<Q", header, 32, 64)
    struct.pack_into("<HH", header, 54, 56, 1)
    segment = struct.pack("<IIQQQQQQ", 4, 0, 120, 0, 0, len(body), len(body), 4)
    return bytes(header) + segment + body


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A tree that `make` has been through, without some options of its .config."""

    def make(*without: str, release: str = RELEASE) -> Path:
        options = [name for name in kconfig.needed() if name not in without]
        config = "".join(f"CONFIG_{name}=y\n" for name in options).encode()
        files = {
            ".config": config,
            find.AUTO: config,
            find.BZIMAGE: b"packed",
            find.RELEASE: f"{release}\n".encode(),
            "vmlinux": _vmlinux(),
            "System.map": b"",
            "Module.symvers": b"",
            "modules.order": b"kernel/fs/xfs/xfs.ko\n",
            "modules.builtin": b"fs/ext4/ext4.ko\n",
            "fs/xfs/xfs.ko": b"module",
        }
        for name, data in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        find.find.cache_clear()
        return tmp_path

    return make


def test_the_fragment_gives_a_reason_for_each_option_it_needs() -> None:
    needed = kconfig.needed()
    for name in ("9P_FS", "VIRTIO_BLK", "KALLSYMS_ALL", "RELAY", "PROC_KCORE"):
        assert needed[name]
    text = kconfig.FRAGMENT.read_text()
    for group in text.split("\n\n")[1:]:
        assert group.startswith(("# needs: ", "# helps: ", "# machine/")), group
    assert len(set(kconfig.OPTION.findall(text))) == len(kconfig.OPTION.findall(text))


def test_a_tree_is_found_and_its_parts_are_its_own(tree: Tree) -> None:
    known = recipe.load(f"{tree()}/")
    assert known.own and known.own.release == RELEASE
    assert known.kernel == str(known.own.given)
    assert known.packages == recipe.load().packages
    assert known.own.identity.endswith(BUILD_ID.hex())
    assert not known.has_core


@pytest.mark.parametrize(
    ("release", "works"), [("5.9.1", False), ("5.10.0-rc1", True), ("7.2.0", True)]
)
def test_the_compiled_tracer_needs_types_and_a_release(
    tree: Tree, release: str, works: bool
) -> None:
    place = tree(release=release)
    assert not recipe.load(str(place)).has_core
    for name in (".config", find.AUTO):
        _add(place / name, "DEBUG_INFO_BTF")
    assert recipe.load(str(place)).has_core == works


def _add(config: Path, *names: str) -> None:
    """Set more options in a configuration."""
    more = "".join(f"CONFIG_{name}=m\n" for name in names)
    config.write_text(config.read_text() + more)
    find.find.cache_clear()


def test_options_that_wait_for_a_make_are_no_options_of_the_kernel(tree: Tree) -> None:
    place = tree()
    lacking = place / find.AUTO
    lacking.write_text(lacking.read_text().replace("CONFIG_9P_FS=y\n", ""))
    with pytest.raises(UserError) as refused:
        recipe.load(str(place))
    assert str(refused.value) == (
        f"kernel {place} was built without CONFIG_9P_FS, which its .config has:"
        f" run make in {place}"
    )
    _add(place / ".config", *(f"NEW_{i}" for i in range(9)))
    with pytest.raises(UserError, match=r" CONFIG_9P_FS, .*_NEW_3 and 5 more, which"):
        recipe.load(str(place))
    (place / ".config").write_text((place / find.AUTO).read_text())
    find.find.cache_clear()
    with pytest.raises(UserError, match=r"\.config lacks CONFIG_9P_FS "):
        recipe.load(str(place))


def test_the_configuration_is_checked_first_and_names_what_is_missing(
    tree: Tree,
) -> None:
    place = tree("9P_FS", "RELAY")
    (place / find.BZIMAGE).unlink()
    with pytest.raises(UserError, match="lacks CONFIG_9P_FS, CONFIG_RELAY ") as refused:
        recipe.load(str(place))
    assert "\n" not in str(refused.value)
    assert "writestall.config" in str(refused.value)


@pytest.mark.parametrize("part", [".config", *find.MADE])
def test_a_tree_that_was_not_built_is_refused(tree: Tree, part: str) -> None:
    place = tree()
    (place / part).unlink()
    with pytest.raises(UserError, match=rf"has no {re.escape(part)}: build it"):
        recipe.load(str(place))


@pytest.mark.parametrize("name", ["./nowhere", "/etc/hostname"])
def test_what_is_no_kernel_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="want the tree that it was built in, or"):
        recipe.load(name)


def test_an_installed_kernel_needs_its_modules_and_headers(tmp_path: Path) -> None:
    image = tmp_path / "vmlinuz-9.9"
    image.touch()
    with pytest.raises(UserError, match=r"config-9\.9, its configuration"):
        recipe.load(str(image))
    (tmp_path / "config-9.9").touch()
    with pytest.raises(UserError, match=r"modules\.dep, its modules"):
        recipe.load(str(image))


INSTALLED = "6.1.0-99-amd64"
COMPILER = "gcc-12"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installed kernel with its modules and headers, below a root of its own."""
    headers, common = tmp_path / "usr/src/headers", tmp_path / "usr/src/common"
    modules = tmp_path / "lib/modules" / INSTALLED
    config = "".join(f"CONFIG_{name}=m\n" for name in kconfig.needed())
    compiler = f'CONFIG_CC_VERSION_TEXT="{COMPILER} (Debian 12.2.0-14) 12.2.0"\n'
    files = {
        tmp_path / f"boot/vmlinuz-{INSTALLED}": "packed",
        tmp_path / f"boot/config-{INSTALLED}": config + compiler,
        modules / "modules.dep": "",
        headers / "Makefile": "",
        common / "Makefile": "",
    }
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (modules / "build").symlink_to(headers)
    (modules / "source").symlink_to(common)
    (headers / "scripts").symlink_to(tmp_path / "usr/lib/kbuild")
    (tmp_path / "usr/lib/kbuild").mkdir(parents=True)
    monkeypatch.setattr(find, "MODULES", tmp_path / "lib/modules")
    return tmp_path


@pytest.fixture
def its_kernel(installed: Path, monkeypatch: pytest.MonkeyPatch) -> image.Kernel:
    """The same as the machine's kernel; the userland has no compiler."""
    monkeypatch.setattr(image, "tree", lambda known: installed / "home")
    return image.kernel(recipe.load(f"{installed}/boot/vmlinuz-{INSTALLED}"))


def test_an_installed_kernel_is_found_with_its_modules_and_headers(
    installed: Path, its_kernel: image.Kernel
) -> None:
    modules = installed / "lib/modules" / INSTALLED
    assert its_kernel.release == its_kernel.name == INSTALLED
    assert its_kernel.vmlinuz == installed / "boot" / f"vmlinuz-{INSTALLED}"
    assert its_kernel.modules == modules
    names = ("lib/kbuild", "src/common", "src/headers")
    headers = [installed / "usr" / name for name in names]
    assert its_kernel.shares == (
        (modules, f"/usr/lib/modules/{INSTALLED}"),
        *((path, str(path)) for path in headers),
    )


def test_the_compiler_of_the_headers_is_named_where_the_userland_has_none(
    installed: Path, its_kernel: image.Kernel
) -> None:
    assert its_kernel.compiler == COMPILER
    there = installed / "home/usr/bin" / COMPILER
    there.parent.mkdir(parents=True)
    there.symlink_to("x86_64-linux-gnu-gcc-12")
    assert image.kernel(recipe.load(its_kernel.given)).compiler is None


@pytest.mark.parametrize("lacking", [COMPILER, None])
def test_a_root_is_entered_with_the_compiler_that_the_headers_call(
    lacking: str | None, its_kernel: image.Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered: list[list[str]] = []

    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        entered.append(command)
        return subprocess.CompletedProcess(command, 0)

    kernel = replace(its_kernel, compiler=lacking)
    monkeypatch.setattr(image, "kernel", lambda known: kernel)
    monkeypatch.setattr(subprocess, "run", run)
    assert cli.main(["enter", "-k", kernel.given, "--", "make"]) == 0
    named = [*cli.NAMING, lacking] if lacking else []
    assert entered[0][entered[0].index("--") + 1 :] == [*named, "make"]


def test_the_source_of_an_output_folder_is_seen_too(tree: Tree, tmp_path: Path) -> None:
    place = tree()
    source = tmp_path.with_name(f"{tmp_path.name}-source")
    source.mkdir()
    (place / "source").symlink_to(source)
    found = find.find(str(place))
    assert found.folders == (place.resolve(), source.resolve())


def test_modules_lie_where_an_installed_kernel_has_them(
    tree: Tree, tmp_path: Path
) -> None:
    place = tree()
    (place / "modules.order").write_text("kernel/fs/xfs/xfs.ko\nlib/zlib.o\n")
    folder = tmp_path / "modules"
    modules.collect(find.find(str(place)), folder)
    assert (folder / "kernel/fs/xfs/xfs.ko").read_bytes() == b"module"
    assert (folder / "modules.order").read_text().splitlines() == [
        "kernel/fs/xfs/xfs.ko",
        "kernel/lib/zlib.ko",
    ]
    assert (folder / "modules.builtin").read_text() == "kernel/fs/ext4/ext4.ko\n"
    assert (folder / "build").resolve() == place.resolve()


def _made_again(module: Path, data: bytes) -> None:
    """Write a module as `make modules` does, at a later time; vmlinux stays."""
    before = module.stat().st_mtime_ns
    module.write_bytes(data)
    os.utime(module, ns=(before + 1, before + 1))


def test_a_module_that_was_made_again_is_packed_again(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tree()
    monkeypatch.setenv("WRITESTALL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(initramfs, "MODULES", {"root": ("xfs",)})
    busybox = tmp_path / "home/usr/bin/busybox"
    busybox.parent.mkdir(parents=True)
    busybox.write_bytes(b"busybox")
    (place / "modules.dep").write_text("fs/xfs/xfs.ko:\n")
    kernel = image.Kernel(
        name=RELEASE,
        given=str(place),
        release=RELEASE,
        tree=tmp_path / "home",
        vmlinuz=place / find.BZIMAGE,
        modules=place,
        identity=find.find(str(place)).identity,
    )
    packed = initramfs.build(kernel)
    assert initramfs.build(kernel) == packed
    _made_again(place / "fs/xfs/xfs.ko", b"edited")
    assert b"edited" in initramfs.build(kernel).read_bytes()


def test_the_dependencies_are_of_the_modules_that_there_are(
    tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tree()
    monkeypatch.setenv("WRITESTALL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(image, "logged", lambda command: None)
    own = find.find(str(place))

    def folder() -> Path:
        return image._modules(own, tmp_path, own.identity)

    first = folder()
    assert folder() == first
    _made_again(place / "fs/xfs/xfs.ko", b"edited")
    second = folder()
    (place / "lib").mkdir()
    (place / "lib/zlib.ko").touch()
    (place / "modules.order").write_text("kernel/fs/xfs/xfs.ko\nlib/zlib.o\n")
    third = folder()
    assert len({first, second, third}) == 3
    assert (third / "kernel/lib/zlib.ko").exists()


def test_a_module_that_was_not_made_is_named(tree: Tree) -> None:
    place = tree()
    (place / "fs/xfs/xfs.ko").unlink()
    with pytest.raises(UserError, match=r"has no .*/fs/xfs/xfs\.ko, .*: run make mod"):
        modules.state(find.find(str(place)))


def test_a_file_without_a_build_id_has_none(tmp_path: Path) -> None:
    file = tmp_path / "vmlinux"
    file.write_bytes(_vmlinux(b""))
    assert elf.build_id(file) == ""
    file.write_bytes(_vmlinux().replace(b"GNU\0", b"XXX\0"))
    assert elf.build_id(file) == ""
