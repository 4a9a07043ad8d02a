# SPDX-License-Identifier: GPL-2.0-only
"""This test will read the command line of QEMU: paths, shares and the sandbox."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from machine import qemu, recipe
from machine.qemu import Machine, Share
from support import PROJECT

# A comma ends a value of QEMU's options, unless there are two.
PATH = Path("/tmp/a,readonly=on")
MACHINE = Machine(Path("/kernel"), Path("/initrd"), "tcg")


@pytest.fixture(autouse=True)
def _no_image(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qemu, "binary", lambda _: ["qemu"])


def _words(machine: Machine) -> list[str]:
    return qemu.command(recipe.load(), machine)


@pytest.mark.parametrize(
    "has",
    [
        {"root": PATH},
        {"layer": PATH},
        {"console": PATH},
        {"virtio_disks": (PATH,)},
        {"scsi_disks": (PATH,)},
        {"scsi_disks": (PATH,), "log_writes": True},
        {"shares": (Share(PATH, "/mnt/x", False),)},
        {"shares": (Share(PATH, "/mnt/x", True),)},
    ],
    ids=str,
)
def test_a_comma_in_a_path_ends_no_value(has: dict[str, Any]) -> None:
    named = [word for word in _words(replace(MACHINE, **has)) if "/tmp/a" in word]
    assert len(named) == 1
    assert "=/tmp/a,,readonly=on," in f"{named[0]},"


def test_a_logged_disk_shows_the_log_of_flushes() -> None:
    """cache=unsafe would keep them from it."""
    disks: dict[str, Any]
    disks = {"virtio_disks": (Path("/d/blk0"),), "scsi_disks": (Path("/d/scsi0"),)}
    plain = [word for word in _words(replace(MACHINE, **disks)) if "/d/" in word]
    assert all("cache=unsafe" in word and ".writes" not in word for word in plain)
    logged = replace(MACHINE, **disks, log_writes=True)
    words = [word for word in _words(logged) if "/d/" in word]
    assert len(words) == 2
    for word, name in zip(words, ("blk0", "scsi0"), strict=True):
        options = word.split(",")
        assert f"file.filename=/d/{name}" in options
        assert f"log.filename=/d/{name}.writes" in options
        assert {"driver=blklogwrites", "cache=writeback"} <= set(options)


def test_qemu_starts_no_program_and_changes_no_user() -> None:
    words = _words(MACHINE)
    denied = words[words.index("-sandbox") + 1].split(",")
    assert denied == [
        *("on", "obsolete=deny", "elevateprivileges=deny", "spawn=deny"),
        "resourcecontrol=deny",
    ]


def _access(folder: Path, *, read_only: bool) -> dict[str, str]:
    """What the option of a share says, by its keys."""
    words = _words(replace(MACHINE, shares=(Share(folder, "/mnt/x", read_only),)))
    option = words[words.index("-fsdev") + 1].removeprefix("local,")
    return dict(word.split("=", 1) for word in option.split(","))


def test_a_share_is_read_only_or_mapped(tmp_path: Path) -> None:
    """Mapped: the guest's kinds of files, owners and modes are data on the host."""
    assert _access(tmp_path, read_only=True)["readonly"] == "on"
    written = _access(tmp_path, read_only=False)
    assert written["security_model"].startswith("mapped-")
    assert (written["fmode"], written["dmode"]) == ("0666", "0777")


# ramfs has no extended attributes at all (fs/ramfs/inode.c).
ON_RAMFS = """
import sys
from pathlib import Path
from typing import Any
sys.path[:0] = [f"{sys.argv[1]}/{name}" for name in ("base", "vm")]
from machine import qemu
print(qemu._access(qemu.Share(Path(sys.argv[2]), "/mnt/x", False)))
"""


def test_where_there_are_no_attributes_files_hold_them(tmp_path: Path) -> None:
    own = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    mounted = 'mount -t ramfs none "$2" && exec "$0" -c "$3" "$1" "$2"'
    words = [sys.executable, str(PROJECT), str(tmp_path), ON_RAMFS]
    done = subprocess.run([*own, mounted, *words], capture_output=True, text=True)
    assert done.stdout.startswith("security_model=mapped-file,"), done.stderr
