# SPDX-License-Identifier: GPL-2.0-only
"""These tests will cut the power of a machine whose disks have a volatile cache, and
read in the next machine what they kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from driver import volatile
from driver.volatile import Lost
from machine import qemu
from machine.statuses import EXIT_CUT
from support import DEFAULT, Run

LIMIT_S = 300
WRITE = """
write() { head -c 4096 /dev/zero | tr '\\0' "$1" | dd of="$2" status=none "${@:3}"; }
"""
CUT = """
grep --recursive --files-with-matches --line-regexp cut /sys/class/virtio-ports/*/name |
    while IFS=/ read -r _ _ _ _ port _; do echo now >"/dev/$port"; done
sleep 60
"""
# Both files of a disk are there before, flushed. Then one of them is overwritten and
# synced, and the other one in the cache of the disk alone.
WRITE_EACH = """
each() { for disk in vdb sda; do "$@" || exit; done; }
begin() {
    [ $disk = sda ] && barrier=0 || barrier=1
    mkfs.ext4 -q -E lazy_itable_init=0 /dev/$disk && mkdir /mnt/$disk &&
        mount -o barrier=$barrier /dev/$disk /mnt/$disk &&
        write 0 /mnt/$disk/synced && write 0 /mnt/$disk/cached &&
        sync && sync /dev/$disk
}
synced() { write 1 /mnt/$disk/synced conv=notrunc,fsync; }
cached() { write 1 /mnt/$disk/cached conv=notrunc oflag=direct; }
each begin
each synced
each cached
"""
READ_EACH = """
for disk in vdb sda; do
    e2fsck -p "/dev/$disk" >&2
    mkdir "/mnt/$disk" && mount "/dev/$disk" "/mnt/$disk" || exit
    for file in synced cached; do
        echo "$disk $file $(head -c 1 "/mnt/$disk/$file")"
    done
done
"""
# The file system is on vdb, and its journal on sda; both are flushed before.
WRITE_JOURNALED = """
mkfs.ext4 -q -b 4096 -O journal_dev /dev/sda &&
    mkfs.ext4 -q -b 4096 -E lazy_itable_init=0 -J device=/dev/sda /dev/vdb &&
    mount -o "$0" /dev/vdb /mnt && sync && sync /dev/vdb &&
    write 1 /mnt/synced conv=fsync || exit
"""
READ_JOURNALED = """
e2fsck -p /dev/vdb >&2
mount /dev/vdb /mnt && stat --format %s /mnt/synced &&
    head -c 1 /mnt/synced | tr '\\0' 0
"""


def _cut(
    machine: Run, disks: Path, script: str, word: str = "", kernel: str = DEFAULT
) -> list[Lost]:
    """Cut a machine behind a script; lose all that its disks have not flushed."""
    logged = ("--disks", str(disks), "--log-writes", "--timeout", "240", "-k", kernel)
    command = ("--", "bash", "-c", WRITE + script + CUT, word)
    cut = machine(*logged, *command, limit_s=LIMIT_S)
    assert cut.returncode == EXIT_CUT, cut.stderr[-3000:]
    paths = [disks / name for name in ("blk0", "scsi0")]
    return [volatile.lose(disk, qemu.write_log(disk), "1", 1.0) for disk in paths]


def _read(machine: Run, disks: Path, script: str, kernel: str = DEFAULT) -> list[str]:
    """What a script prints in the next machine that has these disks."""
    words = ("--disks", str(disks), "-k", kernel, "--", "bash", "-c", script)
    found = machine(*words, limit_s=LIMIT_S)
    assert found.returncode == 0, found.stderr[-3000:]
    return found.stdout.splitlines()


def test_what_no_flush_followed_is_lost_with_the_power(
    machine: Run, tmp_path: Path
) -> None:
    """Without barriers, ext4 does not flush the cache for fsync(2)
    (fs/ext4/fsync.c, ext4_sync_file())."""
    for lost in _cut(machine, tmp_path, WRITE_EACH):
        assert lost.unflushed == lost.lost > 0
    kept = ["vdb synced 1", "vdb cached 0", "sda synced 0", "sda cached 0"]
    assert _read(machine, tmp_path, READ_EACH) == kept


@pytest.mark.on_demand("docs/reports: what kernels do, not what writestall does")
@pytest.mark.parametrize(
    ("kernel", "mounted", "kept"),
    [
        ("6.12", "dioread_nolock", "0"),  # ext4's default
        ("6.12", "dioread_lock", "1"),
        ("7.2", "dioread_nolock", "1"),
    ],
)
def test_an_external_journal_needs_a_flush_of_the_other_disk(
    machine: Run, tmp_path: Path, kernel: str, mounted: str, kept: str
) -> None:
    """Before 6.15, fsync(2) leaves the flush of the file's disk to the commit, and a
    commit without blocks of ordered data does not flush it; with dioread_nolock, a
    new block is none of them (aac45075f6d7, "jbd2: add a missing data flush during
    file and fs synchronization"; fs/ext4/inode.c, ext4_map_blocks())."""
    _cut(machine, tmp_path, WRITE_JOURNALED, mounted, kernel)
    assert _read(machine, tmp_path, READ_JOURNALED, kernel) == ["4096", kept]
