# SPDX-License-Identifier: GPL-2.0-only
"""This test will cut the power of a machine whose disks have a volatile cache, and read
in the next machine what they kept."""

from __future__ import annotations

from pathlib import Path

from driver import volatile
from machine import qemu
from machine.statuses import EXIT_CUT
from support import Run

LIMIT_S = 300
# Both files of a disk are there before, flushed. Then one of them is overwritten and
# synced, and the other one in the cache of the disk alone.
WRITE = """
each() { for disk in vdb sda; do "$@" || exit; done; }
write() { head -c 4096 /dev/zero | tr '\\0' "$1" | dd of="$2" status=none "${@:3}"; }
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
grep --recursive --files-with-matches --line-regexp cut /sys/class/virtio-ports/*/name |
    while IFS=/ read -r _ _ _ _ port _; do echo now >"/dev/$port"; done
sleep 60
"""
READ = """
for disk in vdb sda; do
    e2fsck -p "/dev/$disk" >&2
    mkdir "/mnt/$disk" && mount "/dev/$disk" "/mnt/$disk" || exit
    for file in synced cached; do
        echo "$disk $file $(head -c 1 "/mnt/$disk/$file")"
    done
done
"""


def test_what_no_flush_followed_is_lost_with_the_power(
    machine: Run, tmp_path: Path
) -> None:
    """Without barriers, ext4 does not flush the cache for fsync(2)
    (fs/ext4/fsync.c, ext4_sync_file())."""
    disks = ("--disks", str(tmp_path))
    logged = (*disks, "--log-writes", "--timeout", "240")
    cut = machine(*logged, "--", "bash", "-c", WRITE, limit_s=LIMIT_S)
    assert cut.returncode == EXIT_CUT, cut.stderr[-3000:]
    for name in ("blk0", "scsi0"):
        disk = tmp_path / name
        lost = volatile.lose(disk, qemu.write_log(disk), "1", 1.0)
        assert lost.unflushed == lost.lost > 0
    found = machine(*disks, "--", "bash", "-c", READ, limit_s=LIMIT_S)
    assert found.returncode == 0, found.stderr[-3000:]
    kept = ["vdb synced 1", "vdb cached 0", "sda synced 0", "sda cached 0"]
    assert found.stdout.splitlines() == kept
