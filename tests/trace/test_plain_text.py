# SPDX-License-Identifier: GPL-2.0-only
"""This test will check the text that trace -v prints for each event."""

from __future__ import annotations

import argparse
import io
import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from launcher.plain_text import PlainText, output

CALL = {
    "ev": "write",
    "dur_ns": 2_843_210_000,
    "tid": 136489,
    "pid": 136422,
    "comm": "VM Thread",
    "call": "write",
    "path": "kafka/gc.log",
    "offset": 4096,
    "bytes": 200,
    "ret": 200,
    "kstack": ["folio_wait_bit_common+0x11a", "ext4_da_write_begin+0x90 [ext4]"],
    "ustack": ["__write_nocancel+0x7 [libc.so.6]", "0x7fb0fb830a02"],
}


def said(**event: Any) -> str:
    """The text of an event, without the newline."""
    out = io.BytesIO()
    PlainText(out).write(json.dumps(event).encode() + b"\n")
    text = out.getvalue().decode()
    assert text.endswith("\n")
    assert text.count("\n") == 1
    return text[:-1]


def test_a_call_is_one_line_with_both_stacks() -> None:
    clock, _, rest = said(**CALL, t_ns=time.monotonic_ns()).partition(" ")
    assert re.fullmatch(r"\d\d:\d\d:\d\d\.\d{6}", clock)
    assert rest == (
        "write(2) kafka/gc.log 200 B at 4096 took 2843.2 ms: 200"
        "  VM Thread 136422/136489"
        "  kernel: folio_wait_bit_common < ext4_da_write_begin"
        "  user: __write_nocancel < 0x7fb0fb830a02"
    )


def test_the_clock_is_the_wall_s() -> None:
    now_s = time.time()
    clock = said(**CALL, t_ns=time.monotonic_ns() - 3_000_000_000).split()[0]
    wanted = {
        time.strftime("%H:%M:%S", time.localtime(now_s - 3 + off)) for off in (-1, 0, 1)
    }
    assert clock.partition(".")[0] in wanted


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"ret": -5}, " ms: EIO  "),
        ({"ret": -516}, " ms: -516  "),
        ({"ret": None}, " ms: ?  "),
        ({"offset": None}, "gc.log 200 B took"),
        (
            {"bytes": None, "offset": None, "call": "fsync"},
            "fsync(2) kafka/gc.log took",
        ),
        ({"ustack": []}, "  user: ?"),
        ({"path": None}, "write(2) ? 200 B"),
    ],
)
def test_what_is_not_known_is_not_made_up(changed: dict[str, Any], words: str) -> None:
    assert words in said(**CALL | {"t_ns": 1} | changed)


def test_a_name_with_a_line_s_end_stays_one_line() -> None:
    assert "gc\\u000alog" in said(**CALL | {"t_ns": 1, "path": "lab/gc\nlog"})


def test_the_other_lines_have_words_too() -> None:
    begin = {"stall_ns": 65_500_000, "engine": "stap", "kernel": "6.12"}
    assert said(ev="begin", **begin) == "calls of 65.5 ms and more, stap on 6.12"
    lost = {"count": 3, "what": "events", "why": "the buffer was full"}
    assert said(ev="lost", **lost) == "LOST 3 events: the buffer was full"
    assert said(ev="end", events=7, lost=3) == "7 calls, 3 lost"


def test_it_goes_where_the_options_say(tmp_path: Path) -> None:
    options = argparse.Namespace(text=True, output=tmp_path / "slow")
    with output(options) as sink:
        sink.write(b'{"ev":"end","events":0,"lost":0}\n')
        sink.flush()
    assert options.output.read_text() == "0 calls, 0 lost\n"
