# SPDX-License-Identifier: GPL-2.0-only
"""test_hdr: read our own HdrHistogram log with HdrHistogram's reader."""

from __future__ import annotations

from pathlib import Path

from clients import count, histograms, longest_ns
from hdrh.histogram import HdrHistogram
from hypothesis import given, settings
from hypothesis import strategies as st

from labrun.workloads import hdr

VALUES = st.lists(
    st.integers(0, 2 * hdr.HIGHEST_NS) | st.integers(0, 5_000), min_size=1, max_size=50
)


@given(VALUES)
@settings(deadline=None)
def test_what_is_encoded_is_what_the_library_counts(values: list[int]) -> None:
    wanted = HdrHistogram(1, hdr.HIGHEST_NS, hdr.DIGITS)
    for value in values:
        wanted.record_value(min(value, hdr.HIGHEST_NS))
    found = HdrHistogram.decode(hdr.encoded(values))
    assert found.get_total_count() == len(values)
    for percent in (1, 50, 99, 100):
        at = wanted.get_value_at_percentile(percent)
        assert found.get_value_at_percentile(percent) == at


def test_a_log_has_an_interval_for_each_second_with_values(tmp_path: Path) -> None:
    start_ns = 5 * hdr.NS
    values = [(start_ns, 1_000), (start_ns + 10, 3_000), (start_ns + 2 * hdr.NS, 7)]
    path = tmp_path / "w.hlog"
    path.write_text(hdr.log("a test: ns", start_ns, values))
    assert [one.get_total_count() for one in histograms(path)] == [2, 1]
    assert (count(path), longest_ns(path)) == (3, 3_001)
    assert f"start is CLOCK_MONOTONIC {start_ns} ns]" in path.read_text()
