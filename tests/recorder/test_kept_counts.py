# SPDX-License-Identifier: GPL-2.0-only
"""test_kept_counts: record says how many calls it kept, lost and left out."""

from __future__ import annotations

from pathlib import Path

from recorder import kept_calls


def test_the_counts_of_all_events_are_summed(tmp_path: Path) -> None:
    line = '{"ev":"calls","t_ns":5,"count":%d,"lost":%d,"left_out":%d,"rows":"eJ"}\n'
    other = '{"ev":"file","t_ns":5,"number":1}\n'
    (tmp_path / "events").mkdir()
    text = line % (2048, 0, 3) + other + line % (1, 7, 0)
    (tmp_path / kept_calls.EVENTS).write_text(text)
    assert kept_calls.words(tmp_path) == (
        "profile: 2049 calls kept, 7 lost, 3 of kinds that a replay does not make"
    )
