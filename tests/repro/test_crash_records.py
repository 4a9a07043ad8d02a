# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare the report on the file of a cut machine with its content."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from labrun.crash.records import RECORD_BYTES, Promise, judge, record

MS = 1_000_000


def file_of(count: int) -> bytes:
    return b"".join(record(number, number * MS) for number in range(count))


def test_a_whole_file_has_lost_nothing() -> None:
    kept = judge(file_of(10), Promise(10, 8, 9 * MS))
    assert (kept.lost, kept.lost_synced, kept.torn, kept.lost_ms) == (0, 0, 0, 0.0)


def test_more_than_was_promised_is_no_loss() -> None:
    assert judge(file_of(11), Promise(10, 10, 9 * MS)).lost == 0


def test_a_file_that_is_not_there_has_lost_all() -> None:
    kept = judge(b"", Promise(10, 8, 9 * MS))
    assert (kept.lost, kept.lost_synced, kept.torn, kept.lost_ms) == (10, 8, 0, None)


def test_a_short_file_has_lost_its_end() -> None:
    kept = judge(file_of(6), Promise(10, 8, 9 * MS))
    assert (kept.lost, kept.lost_synced, kept.torn, kept.lost_ms) == (4, 2, 0, 4.0)


def test_zeros_where_a_record_was_are_torn_and_lost() -> None:
    data = bytearray(file_of(10))
    data[3 * RECORD_BYTES : 4 * RECORD_BYTES] = bytes(RECORD_BYTES)
    kept = judge(bytes(data), Promise(10, 4, 9 * MS))
    assert (kept.lost, kept.lost_synced, kept.torn, kept.lost_ms) == (1, 1, 1, 7.0)


def test_a_record_in_another_place_is_torn() -> None:
    kept = judge(record(1, 0) + record(0, 0), Promise(2, 2, 0))
    assert (kept.lost, kept.torn) == (2, 2)


@given(
    written=st.integers(0, 20),
    synced=st.integers(0, 20),
    size=st.integers(0, 20 * RECORD_BYTES),
    flips=st.lists(st.integers(0, 20 * RECORD_BYTES - 1), max_size=3, unique=True),
)
def test_each_flipped_or_missing_record_counts_once(
    written: int, synced: int, size: int, flips: list[int]
) -> None:
    synced = min(synced, written)
    data = bytearray(file_of(20)[:size])
    for at in flips:
        if at < size:
            data[at] ^= 0xFF
    bad = {at // RECORD_BYTES for at in flips if at < size}
    good = {n for n in range(size // RECORD_BYTES) if n not in bad}
    kept = judge(bytes(data), Promise(written, synced, 20 * MS))
    assert kept.lost == len(set(range(written)) - good)
    assert kept.lost_synced == len(set(range(synced)) - good)
    assert kept.torn == len(set(range(-(-size // RECORD_BYTES))) - good)
