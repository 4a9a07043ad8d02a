# SPDX-License-Identifier: GPL-2.0-only
"""This test will take from disks what a volatile cache loses, by their writes' logs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from driver import volatile
from driver.commands.crash import Cache, Cut
from driver.losses import Asked
from driver.settings import Settings
from driver.volatile import DISCARD, ENTRY, FLUSH, FUA, MAGIC, SUPER, VERSION, Lost
from machine import qemu
from machine.statuses import EXIT_CUT
from writestall_base.errors import UserError

SECTOR_BYTES = 512
DISK_BYTES = 64 * SECTOR_BYTES
Entry = tuple[int, bytes, int]  # sector, one letter for each sector, flags


def logged(folder: Path, entries: Sequence[Entry]) -> tuple[Path, Path]:
    """A disk that kept everything, and the log of its writes (block/blklogwrites.c)."""
    disk, log = folder / "blk0", qemu.write_log(folder / "blk0")
    with disk.open("wb") as kept, log.open("wb") as file:
        kept.truncate(DISK_BYTES)
        head = SUPER.pack(MAGIC, VERSION, len(entries), SECTOR_BYTES)
        file.write(head.ljust(SECTOR_BYTES, b"\0"))
        for sector, letters, flags in entries:
            entry = ENTRY.pack(sector, len(letters), flags, 0)
            file.write(entry.ljust(SECTOR_BYTES, b"\0"))
            data = b"".join(bytes([one]) * SECTOR_BYTES for one in letters)
            if not flags & DISCARD:
                file.write(data)
                kept.seek(sector * SECTOR_BYTES)
                kept.write(data)
    return disk, log


def there(disk: Path) -> dict[int, str]:
    """The letter of each sector that has one."""
    data = disk.read_bytes()
    assert len(data) == DISK_BYTES
    letters = data[::SECTOR_BYTES]
    return {at: chr(one) for at, one in enumerate(letters) if one}


ENTRIES = [
    (0, b"aab", 0),
    (8, b"c", 0),
    (0, b"", FLUSH),
    (1, b"d", 0),
    (8, b"x", DISCARD),
    (0, b"", FLUSH),
    (2, b"e", 0),
    (9, b"ff", 0),
    (20, b"g", FUA),
]


def test_what_no_flush_followed_is_lost(tmp_path: Path) -> None:
    disk, log = logged(tmp_path, ENTRIES)
    before = there(disk)
    assert before == {0: "a", 1: "d", 2: "e", 8: "c", 9: "f", 10: "f", 20: "g"}
    assert volatile.lose(disk, log, "1", 1.0) == Lost(unflushed=2, lost=2)
    assert there(disk) == {0: "a", 1: "d", 2: "b", 8: "c", 20: "g"}


def test_a_disk_that_loses_nothing_is_as_it_was(tmp_path: Path) -> None:
    disk, log = logged(tmp_path, ENTRIES)
    before = there(disk)
    assert volatile.lose(disk, log, "1", 0.0) == Lost(unflushed=2, lost=0)
    assert there(disk) == before


def test_each_write_is_lost_by_itself_and_the_seed_repeats_it(tmp_path: Path) -> None:
    entries: list[Entry] = [(0, b"", FLUSH), *((at, b"z", 0) for at in range(60))]
    found = []
    for seed in ("1", "1", "2"):
        disk, log = logged(tmp_path, entries)
        lost = volatile.lose(disk, log, seed, 0.5)
        assert lost == Lost(unflushed=60, lost=60 - len(there(disk)))
        assert 10 < lost.lost < 50
        found.append(there(disk))
    assert found[0] == found[1] != found[2]


def test_a_log_that_ends_amid_an_entry_is_read_up_to_there(tmp_path: Path) -> None:
    disk, log = logged(tmp_path, ENTRIES)
    log.write_bytes(log.read_bytes()[: -SECTOR_BYTES - 490])
    assert volatile.lose(disk, log, "1", 1.0) == Lost(unflushed=2, lost=2)


def test_a_log_with_a_gap_is_refused(tmp_path: Path) -> None:
    """What was written behind it cannot be found, and may have been flushed."""
    disk, log = logged(tmp_path, ENTRIES)
    before = there(disk)
    with log.open("r+b") as file:
        file.seek(5 * SECTOR_BYTES)
        file.write(b"\0" * 2 * SECTOR_BYTES)
    with pytest.raises(UserError, match=r"was not written at 2560: cut once more"):
        volatile.lose(disk, log, "1", 1.0)
    assert there(disk) == before


@pytest.mark.parametrize("text", [b"", b"\0" * 512])
def test_a_disk_without_a_flush_is_refused(tmp_path: Path, text: bytes) -> None:
    disk, log = logged(tmp_path, [])
    log.write_bytes(text)
    with pytest.raises(UserError, match=r"blk0\.writes: not a log of writes"):
        volatile.lose(disk, log, "1", 1.0)


def test_only_the_machine_that_is_cut_logs_its_writes(tmp_path: Path) -> None:
    known = Settings("6.12", "icount", tmp_path, False)
    cut = Cut(tmp_path, known, "/built", 45, cache=Cache("1/1", 1.0))
    assert "--log-writes" in cut.machine("write", "ext4-default", str(tmp_path))
    assert "--log-writes" not in cut.machine("check", "ext4-default", str(tmp_path))
    plain = Cut(tmp_path, known, "/built", 45)
    assert "--log-writes" not in plain.machine("write", "ext4-default", str(tmp_path))


def test_every_other_cut_loses_all_that_it_may() -> None:
    asked = Asked(20, 45, volatile=True)
    chances = [asked.cache(number, 1) for number in (1, 2, 3)]
    assert [one.chance for one in chances if one] == [1.0, 0.5, 1.0]
    assert Asked(20, 45).cache(1, 1) is None


def test_the_cut_takes_from_the_disks_that_were_written_to(tmp_path: Path) -> None:
    logged(tmp_path, ENTRIES)
    (tmp_path / "scsi0").write_bytes(b"")
    qemu.write_log(tmp_path / "scsi0").write_bytes(b"")
    known = Settings("6.12", "icount", tmp_path, False)
    cut = Cut(tmp_path, known, "/built", 45, cache=Cache("1/1", 1.0))
    assert cut._lose(tmp_path) == {"unflushed": 2, "lost": 2}
    assert Cut(tmp_path, known, "/built", 45)._lose(tmp_path) == {}


class Complains:
    """What stands for a log: the first machine is cut, and the kernel of the second
    complains after it has written what is left."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.status = folder, 0

    def run(self, *_: list[str]) -> None:
        if not self.status:
            self.status = EXIT_CUT
        else:
            (self.folder / "xfs-default.json").write_text('{"damage": "xfs_repair"}')
        raise UserError("failed")


def test_a_complaint_does_not_hide_what_was_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cut, "machine", lambda *_: [])
    monkeypatch.setattr(Cut, "_lose", lambda *_: {"lost": 3})
    known = Settings("6.12", "icount", tmp_path, False)
    cut = Cut(tmp_path, known, "/built", 45, cache=Cache("1/1", 1.0))
    log: Any = Complains(tmp_path)
    with pytest.raises(UserError):
        cut.kept(log, "xfs-default")
    kept = json.loads((tmp_path / "xfs-default.json").read_text())
    assert kept["damage"] == "xfs_repair"
    assert kept["cache"] == {"seed": "1/1", "chance": 1.0, "lost": 3}
