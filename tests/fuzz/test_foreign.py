# SPDX-License-Identifier: GPL-2.0-only
"""This test will damage the files of other users that record and watch read as root.

Whatever they hold, they are read in bounds, or refused by a ValueError with a clause.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import edits
import pytest
from drawing import SECONDS, drawn
from hypothesis import strategies as st

import made_elf
from foreign import functions, perf_map
from foreign.files import PERF_MAP_BYTES
from foreign.symbol_table import MOST_FUNCTIONS, MOST_NAME_BYTES, Table
from recorder import runtimes
from writestall.common.containers import Container
from writestall_base import elf

# What one ELF file may have read of it: two tables of symbols with their names, the
# program headers and section headers, which a header counts by 16 bits, and notes.
ELF_BYTES = 4 * elf.TABLE_BYTES + (1 << 24) + elf.NOTES_BYTES
SMALL = (*range(20), 24, 56, 64, 4096, 0xFFFF, 1 << 25)
LARGE = ((1 << 25) + 1, 1 << 31, 1 << 32, 1 << 62, 2**64 - 1)
# Kind, offset, size, link and row size of the section headers that made_elf ends with.
SECTION_FIELDS = (4, 24, 32, 40, 56)
ADDRESSES = (0, 1, 0x1000, 0x1008, 1 << 40, 1 << 63, 2**64 - 1)


@pytest.fixture
def read_bytes(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How much was read since it was asked last."""
    read, sizes = os.pread, list[int]()

    def counting(fd: int, size: int, offset: int) -> bytes:
        found = read(fd, size, offset)
        sizes.append(len(found))
        return found

    def asked() -> int:
        total = sum(sizes)
        sizes.clear()
        return total

    monkeypatch.setattr(os, "pread", counting)
    return asked


@contextmanager
def opened(content: bytes) -> Iterator[int]:
    """A descriptor of a file in memory."""
    fd = os.memfd_create("fuzz")
    try:
        os.write(fd, content)
        yield fd
    finally:
        os.close(fd)


def _files() -> list[bytes]:
    """Files with symbols, with too many, with notes, and a real one."""
    names = b"\0fsync\0__GI_fsync\0main\0\0"  # what follows is aligned
    symbols = b"".join(made_elf.symbol(at, 0x1000 + 8 * at) for at in (1, 7, 18, 1, 7))
    notes = made_elf.note(1, b"Linux\0", b"12345") + made_elf.note(
        elf.GNU_BUILD_ID[1], b"GNU\0", bytes(range(20))
    )
    return [
        made_elf.with_symbols(symbols, names),
        made_elf.with_symbols(symbols, names, claimed=elf.TABLE_BYTES + 24),
        made_elf.with_notes(notes),
        Path("/bin/true").read_bytes(),
    ]


@st.composite
def damaged_elf(draw: Any) -> bytes:
    """A file with some of its numbers, mostly in its header and tables, replaced."""
    content = bytearray(draw(st.sampled_from(_files())))
    last = len(content) - 1
    tables = [last - 191 + 64 * row + at for row in range(3) for at in SECTION_FIELDS]
    places = (st.integers(0, 127), st.integers(0, last), st.sampled_from(tables))
    for _ in range(draw(st.integers(1, 8))):
        number = draw(st.sampled_from(draw(st.sampled_from((SMALL, LARGE)))))
        size = draw(st.sampled_from((2, 4, 8)))
        at = draw(st.one_of(places)) & -size
        content[at : at + size] = (number % (1 << (8 * size))).to_bytes(size, "little")
    return bytes(
        content[: draw(st.integers(0, len(content)))]
        if draw(st.booleans())
        else content
    )


def _check(table: Table) -> None:
    assert len(table) <= MOST_FUNCTIONS
    for address in ADDRESSES:
        found = table.find(address)
        assert found is None or (found[0] >= 0 and len(found[1]) <= MOST_NAME_BYTES)


def test_no_executable_is_read_beyond_bounds(read_bytes: Callable[[], int]) -> None:
    outcomes = {"read": 0, "refused": 0}

    def one(content: bytes) -> None:
        read_bytes()
        with opened(content) as fd:
            build = elf.Elf.of_file(fd).build_id()
            assert len(build) <= 2 * elf.MOST_ID
            try:
                found = functions.read(fd, fd)
            except ValueError as error:
                assert str(error).startswith("it has ")
                outcomes["refused"] += 1
            else:
                _check(found.functions)
                assert all(found.find(address)[0] >= 0 for address in ADDRESSES)
                outcomes["read"] += 1
        assert read_bytes() <= 2 * ELF_BYTES

    for content in _files():
        one(content)
    count = drawn(damaged_elf(), one)
    print(f"fuzz: {count} executables in {SECONDS:g} s, {outcomes}")
    assert outcomes["read"] > 10 and outcomes["refused"]


def test_no_perf_map_is_read_beyond_bounds(read_bytes: Callable[[], int]) -> None:
    row = b"%x %x Lcom/example/Class;::method%d\n"
    lines = [row % (0x1000 + 64 * at, 64, at) for at in range(200)]
    kept = [0]

    def one(content: bytes) -> None:
        read_bytes()
        with opened(content) as fd:
            table = perf_map.read(fd)
        _check(table)
        kept[0] += len(table)
        assert read_bytes() <= PERF_MAP_BYTES + perf_map.CHUNK_BYTES

    count = drawn(edits.edited(lines, edits.OF_TEXT), one)
    print(f"fuzz: {count} perf maps in {SECONDS:g} s")
    assert kept[0] > 100 * count


ID = "4f1d" * 16
ANNOTATIONS = {name: name for pair in runtimes.ANNOTATIONS for name in pair}
STATE: dict[str, Any] = {
    f"var/lib/docker/containers/{ID}/config.v2.json": {"Name": "/db", "Id": ID},
    **{
        f"{folder}/{name.format(id=ID)}": {"annotations": ANNOTATIONS}
        for folder, name in runtimes.BUNDLES
    },
    "var/lib/containers/storage/overlay-containers/containers.json": [
        {"id": ID, "names": ["web", "other"]}
    ],
}
LINKS = ("{pod}_{space}_{name}-{id}.log", "{pod}-{id}.log", "-{id}.log", "_-{id}.log")


@st.composite
def damaged_state(draw: Any) -> tuple[str, bytes]:
    """A file of a runtime, and a damaged content for it."""
    name = draw(st.sampled_from(sorted(STATE)))
    line = json.dumps(STATE[name]).encode()
    return name, draw(edits.edited([line], edits.OF_JSON))


def test_no_state_of_a_container_breaks_its_name(tmp_path: Path) -> None:
    named = [0]

    def one(drew: tuple[str, bytes]) -> None:
        name, content = drew
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
        try:
            found = runtimes.named(Container("docker", ID, "uid"), tmp_path)
        finally:
            place.unlink()
        assert isinstance(found.name, str) and isinstance(found.pod, str)
        named[0] += bool(found.name)

    count = drawn(damaged_state(), one)
    print(f"fuzz: {count} states of containers in {SECONDS:g} s")
    assert named[0] > 10


@pytest.mark.parametrize("form", LINKS)
def test_no_name_of_a_log_breaks_a_containers_name(form: str, tmp_path: Path) -> None:
    place = tmp_path / runtimes.LOGS / form.format(pod="p", space="s", name="n", id=ID)
    place.parent.mkdir(parents=True)
    place.touch()
    found = runtimes.named(Container("docker", ID, "uid"), tmp_path)
    assert (found.name in ("", "n")) and found.pod in ("p", "uid")
