# SPDX-License-Identifier: GPL-2.0-only
"""This test will have a guest make every kind of file in its shares, as root, and look
at what is there on the host.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from support import Run

# What the guest sees of each: its kind and mode, in the words of stat(1).
MADE = {
    "program": "regular file 6755",
    "old": "regular file 4711",
    "folder": "directory 7777",
    "block": "block special file 666",
    "character": "character special file 666",
    "pipe": "fifo 622",
    "socket": "socket 777",
    "link": "symbolic link 777",
    "hard": "regular file 6755",
    "given": "regular file 600",
}
SCRIPT = r"""
set -eu
umask 0
cd /mnt/shared
cp /bin/true program
chmod 6755 program
ln program hard
chmod 4711 old
mkdir folder
chmod 7777 folder
mknod -m 666 block b 254 0
mknod -m 666 character c 1 3
mknod -m 622 pipe p
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
ln -s /etc/shadow link
test "$(readlink link)" = /etc/shadow
touch given
chmod 600 given
chown 1000:1000 given
for file; do stat --format '%n %F %a' "$file"; done | sed 's/ empty / /;s/sy.*k/& /'
"""


def _mode(path: Path) -> str:
    return stat.filemode(path.lstat().st_mode)


def test_a_guest_leaves_plain_files_and_folders_alone(
    machine: Run, tmp_path: Path
) -> None:
    """No set-user-ID program, device, pipe, socket or link; those that look at a run
    can read all of it.
    """
    before = os.umask(0o022)
    (tmp_path / "old").write_text("of the host\n")
    (tmp_path / "old").chmod(0o640)
    share = f"{tmp_path}:/mnt/shared"
    try:
        done = machine("--share", share, "--", "bash", "-c", SCRIPT, "bash", *MADE)
    finally:
        os.umask(before)
    assert done.returncode == 0, done.stderr
    seen = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert {name: " ".join(kind.split()) for name, kind in seen.items()} == MADE
    left = {path.name: _mode(path) for path in tmp_path.iterdir()}
    usual = dict.fromkeys(MADE, "-rw-r--r--")
    assert left == usual | {"folder": "drwxr-xr-x", "old": "-rw-r-----"}
    assert (tmp_path / "link").read_text() == "/etc/shadow"


def test_another_machine_sees_what_the_first_made(machine: Run, tmp_path: Path) -> None:
    share = f"{tmp_path}:/mnt/shared"
    made = "cd /mnt/shared && echo x >file && chmod 750 file && ln -s file link"
    assert machine("--share", share, "--", "sh", "-c", made).returncode == 0
    shown = "cd /mnt/shared && stat --format %a file && readlink link && cat link"
    done = machine("--share", share, "--", "sh", "-c", shown)
    assert done.stdout.split() == ["750", "file", "x"], done.stderr


def test_a_read_only_share_is_read_only(machine: Run, tmp_path: Path) -> None:
    """Also for a guest that mounts it again."""
    makes = ("touch file", "mknod b b 254 0", "ln -s x y")
    again = "mount -o remount,rw /mnt/shared; cd /mnt/shared || exit"
    each = "; ".join((again, *(f"{make} && echo made" for make in makes)))
    share = f"{tmp_path}:/mnt/shared:ro"
    done = machine("--share", share, "--", "sh", "-c", each)
    assert done.stderr.count("Read-only file system") >= len(makes), done.stderr
    assert (done.stdout, list(tmp_path.iterdir())) == ("", [])


def test_paths_with_commas_are_paths(
    machine: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scratch disks and the console are in such a folder."""
    folder = tmp_path / "a,readonly=on"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    console = folder / "console"
    written = "echo x >/dev/vdb && echo x >/dev/sda && echo '<6>said' >/dev/kmsg"
    done = machine("--console", str(console), "--", "sh", "-c", written)
    assert done.returncode == 0, done.stderr
    assert "said" in console.read_text()
