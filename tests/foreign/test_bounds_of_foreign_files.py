# SPDX-License-Identifier: GPL-2.0-only
"""This test will read files that claim more than they have, and count what is read."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import pytest

import made_elf
from foreign import files, functions, maps, perf_map
from foreign.functions import Functions
from foreign.symbol_table import MOST_FUNCTIONS, MOST_NAME_BYTES, Table
from writestall_base import elf

NOTES = 65_535  # as many as a header can say


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of all reads."""
    read, sizes = os.pread, list[int]()

    def counting(fd: int, size: int, offset: int) -> bytes:
        found = read(fd, size, offset)
        sizes.append(len(found))
        return found

    monkeypatch.setattr(os, "pread", counting)
    return sizes


def build_id(path: Path) -> str:
    with path.open("rb") as file:
        return elf.Elf.of_file(file.fileno()).build_id()


def test_notes_that_overlap_are_read_up_to_their_bound(
    tmp_path: Path, counted: list[int]
) -> None:
    """Before, each of them was, whatever its size."""
    place = tmp_path / "overlapping"
    table = elf.SEGMENT.size * NOTES
    other = made_elf.note(1, b"none", bytes(100))
    rows = made_elf.segment(elf.PT_NOTE, made_elf.HEAD_BYTES + table, 1 << 20) * NOTES
    place.write_bytes(made_elf.header(NOTES, 0, 0) + rows + other * 8000)
    assert build_id(place) == ""
    assert sum(counted) <= made_elf.HEAD_BYTES + table + elf.NOTES_BYTES
    assert len(counted) <= 2 + elf.MOST_NOTES


def test_a_build_id_in_the_last_note_within_the_bound_is_found(tmp_path: Path) -> None:
    notes = [made_elf.note(1, b"none", b"x")] * 15
    notes.append(made_elf.note(3, b"GNU\0", bytes(range(20))))
    at = made_elf.HEAD_BYTES + elf.SEGMENT.size * len(notes)
    rows = b""
    for one in notes:
        rows += made_elf.segment(elf.PT_NOTE, at, len(one))
        at += len(one)
    place = tmp_path / "last"
    place.write_bytes(made_elf.header(len(notes), 0, 0) + rows + b"".join(notes))
    assert build_id(place) == bytes(range(20)).hex()


def test_a_build_id_is_found_behind_other_notes(tmp_path: Path) -> None:
    notes = made_elf.note(1, b"Linux\0", b"12345")
    notes += made_elf.note(3, b"GNU\0", bytes(range(20)))
    for name, data, expected in (
        ("good", made_elf.with_notes(notes), bytes(range(20)).hex()),
        ("none", made_elf.with_notes(made_elf.note(1, b"GNU\0", b"1234")), ""),
        ("cut", made_elf.with_notes(notes)[:70], ""),
        ("script", b"#!/bin/sh\n", ""),
        ("empty", b"", ""),
    ):
        (tmp_path / name).write_bytes(data)
        assert build_id(tmp_path / name) == expected, name


def functions_of(path: Path) -> Functions:
    with path.open("rb") as file:
        return functions.read(file.fileno())


def test_a_table_that_claims_more_than_its_bound_is_not_read(
    tmp_path: Path, counted: list[int]
) -> None:
    place = tmp_path / "large"
    place.write_bytes(made_elf.with_symbols(b"", b"\0", claimed=elf.TABLE_BYTES + 24))
    with place.open("ab") as file:
        file.truncate(1 << 30)
    with pytest.raises(ValueError, match="a table of more than 32 MiB"):
        functions_of(place)
    assert sum(counted) < 1 << 10


def test_a_name_without_an_end_is_cut(tmp_path: Path) -> None:
    """A hundred symbols with one name of 1 MiB took 100 MiB."""
    place = tmp_path / "endless"
    rows = b"".join(made_elf.symbol(0, 64 * at) for at in range(100))
    place.write_bytes(made_elf.with_symbols(rows, b"a" * (1 << 20)))
    names = {row.name for row in functions_of(place).functions}
    assert names == {"a" * MOST_NAME_BYTES}


def test_no_more_symbols_than_the_bound_are_kept() -> None:
    table = Table()
    for at in range(MOST_FUNCTIONS):
        table.add(at, 1, b"")
    with pytest.raises(ValueError, match="more than 500000 symbols"):
        table.add(0, 1, b"")


def test_a_perf_map_is_held_in_little_memory(tmp_path: Path) -> None:
    """4 MiB of it took 45 MiB as tuples: eleven times its size."""
    place, row = tmp_path / "map", b"%x 40 Lcom/example/Class;::method%d\n"
    lines = [row % (0x7F0000000000 + at * 64, at) for at in range(80_000)]
    place.write_bytes(b"".join(reversed(lines)))
    size = place.stat().st_size
    del lines
    with place.open("rb") as file:
        tracemalloc.start()
        table = perf_map.read(file.fileno())
        held, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert len(table) == 80_000
    assert table.find(0x7F0000000044) == (4, "Lcom/example/Class;::method1")
    assert held < 2 * size and peak < 5 * size, (held / size, peak / size)


def test_a_line_without_an_end_is_no_row(tmp_path: Path) -> None:
    place = tmp_path / "map"
    place.write_bytes(b"1000 10 " + b"x" * (4 << 20) + b"\n2000 10 good\n")
    with place.open("rb") as file:
        table = perf_map.read(file.fileno())
    assert table.find(0x2004) == (4, "good")
    found = table.find(0x1004)
    assert found and len(found[1]) == MOST_NAME_BYTES


def test_mappings_are_read_up_to_their_bound(tmp_path: Path) -> None:
    """A process may have 65530, each with a path of 4 KiB."""
    row = f"{{:x}}-{{:x}} r-xp 00000000 08:01 7 /{'a' * 4000}\n"
    rows = (row.format(at << 12, (at + 1) << 12) for at in range(5000))
    (tmp_path / "7").mkdir()
    (tmp_path / "7/maps").write_text("".join(rows))
    found = maps.read(7, tmp_path)
    assert 0 < sum(len(row.path) for row in found) <= maps.MOST_CODE_BYTES
    assert len(list(files.lines(7, "maps", 10_000, tmp_path))) == 2
