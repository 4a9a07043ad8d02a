# SPDX-License-Identifier: GPL-2.0-only
"""test_kernel_trees: find one's own kernel by its path, or refuse it in one line."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import support  # noqa: F401 (puts vm/ on the path)
from machine import elf, recipe
from machine.errors import UserError
from machine.own import find, kconfig, modules

RELEASE = "4.19.108"
BUILD_ID = bytes(range(20))
Tree = Callable[..., Path]


def _vmlinux(build_id: bytes = BUILD_ID) -> bytes:
    """An ELF file with a segment of two notes, the second of them the build id."""
    other = struct.pack("<III4s4s", 4, 2, 1, b"Xen\0", b"ab")
    body = other + struct.pack("<III4s", 4, len(build_id), 3, b"GNU\0") + build_id
    header = bytearray(b"\x7fELF" + bytes(60))
    struct.pack_into("<Q", header, 32, 64)
    struct.pack_into("<HH", header, 54, 56, 1)
    segment = struct.pack("<IIQQQQQQ", 4, 0, 120, 0, 0, len(body), len(body), 4)
    return bytes(header) + segment + body


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A tree that `make` has been through, without some options of its .config."""

    def make(*without: str, release: str = RELEASE) -> Path:
        options = [name for name in kconfig.needed() if name not in without]
        files = {
            ".config": "".join(f"CONFIG_{name}=y\n" for name in options).encode(),
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
    assert not known.bpftrace


@pytest.mark.parametrize(
    ("release", "works"), [("5.17.1", False), ("5.18.0-rc1", True), ("7.2.0", True)]
)
def test_bpftrace_needs_types_and_a_release(
    tree: Tree, release: str, works: bool
) -> None:
    config = tree(release=release) / ".config"
    assert not recipe.load(str(config.parent)).bpftrace
    config.write_text(f"{config.read_text()}CONFIG_DEBUG_INFO_BTF=y\n")
    find.find.cache_clear()
    assert recipe.load(str(config.parent)).bpftrace == works


def test_the_configuration_is_checked_first_and_names_what_is_missing(
    tree: Tree,
) -> None:
    place = tree("9P_FS", "RELAY")
    (place / find.BZIMAGE).unlink()
    with pytest.raises(UserError, match="lacks CONFIG_9P_FS, CONFIG_RELAY ") as told:
        recipe.load(str(place))
    assert "\n" not in str(told.value)
    assert "writestall.config" in str(told.value)


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


def test_a_file_without_a_build_id_has_none(tmp_path: Path) -> None:
    file = tmp_path / "vmlinux"
    file.write_bytes(_vmlinux(b""))
    assert elf.build_id(file) == ""
    file.write_bytes(_vmlinux().replace(b"GNU\0", b"XXX\0"))
    assert elf.build_id(file) is None
