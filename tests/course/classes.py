# SPDX-License-Identifier: GPL-2.0-only
"""classes: folders of students as hypothesis draws them, and hostile ones by hand."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from writestall.course import draw, scenario, tables, work

GOOD = {"lab": 2, "seed": "anna", "recorded": True, "holder": "a", "root": "b", "ms": 1}
RUN = "20260102-page-lock"
# A line that unpacks to this is longer than any that is read whole.
LONG_BYTES = 40 << 20
Make = Callable[[Path], None]


def say(place: Path, **changes: Any) -> None:
    """An answer with these changes, as JSON."""
    text = json.dumps(GOOD | changes)
    (place / work.ANSWER).write_text(text)


def machine(place: Path, seed: str = "anna") -> Path:
    """An answer to a machine's run of a seed: a recorded one stands for it."""
    say(place, recorded=False, seed=seed)
    run = place / RUN
    work.unpack("page-lock-7.2", run)
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["scenario"] |= scenario.table(draw.draw(tables.lab(2), seed))
    (run / "manifest.json").write_text(json.dumps(manifest))
    return run


def _fifo(place: Path) -> None:
    os.mkfifo(place / work.ANSWER)


def _zero(place: Path) -> None:
    (place / work.ANSWER).symlink_to("/dev/zero")


def _endless(place: Path) -> None:
    """A file of 1 TiB that takes no space."""
    with (place / work.ANSWER).open("wb") as file:
        file.truncate(1 << 40)


def _run_beside(name: str) -> Make:
    def make(place: Path) -> None:
        events = machine(place) / name
        events.unlink()
        os.mkfifo(events)

    return make


def _long_line(place: Path) -> None:
    events = machine(place) / "events/stap.jsonl"
    events.unlink()
    with gzip.open(events.with_name("stap.jsonl.gz"), "wb", compresslevel=1) as file:
        for _ in range(LONG_BYTES >> 20):
            file.write(b"x" * (1 << 20))


def _long_record(place: Path) -> None:
    """A record of 1 TiB without a line end."""
    with (machine(place) / "truth.jsonl").open("wb") as file:
        file.truncate(1 << 40)


def _out_of_the_folder(place: Path) -> None:
    machine(place)
    (place / "mine").symlink_to("/etc")
    (place / RUN / "writer.jsonl").unlink()
    (place / RUN / "writer.jsonl").symlink_to("/etc/shadow")


def _a_neighbour_s_run(place: Path) -> None:
    """A link to somebody else's run."""
    run = machine(place)
    run.rename(place.with_name("elsewhere-run"))
    run.symlink_to(place.with_name("elsewhere-run"))


def _deep(place: Path) -> None:
    (place / work.ANSWER).write_text("[" * 60_000)


def _many(place: Path) -> None:
    for number in range(200):
        (place / str(number)).mkdir()
        say(place / str(number))


def _manifest(place: Path) -> None:
    machine(place)
    with (place / RUN / "manifest.json").open("wb") as file:
        file.truncate(1 << 40)


def _deep_folders(place: Path) -> None:
    for _ in range(40):
        place = place / "d"
    place.mkdir(parents=True)
    say(place)


# What a student may hand in, and what is said of it.
HOSTILE: dict[str, tuple[Make, str]] = {
    "fifo": (_fifo, "a FIFO, not a regular file"),
    "zero": (_zero, "a symbolic link, not a regular file"),
    "endless": (_endless, "larger than"),
    "fifo-in-the-run": (_run_beside("truth.jsonl"), "a FIFO, not a regular file"),
    "long-line": (_long_line, "line longer than 1 MiB"),
    "long-record": (_long_record, "larger than"),
    "long-manifest": (_manifest, "larger than"),
    "shadow": (_out_of_the_folder, "a symbolic link, not a regular file"),
    "neighbour": (_a_neighbour_s_run, "no run there"),
    "deep": (_deep, "Expected `object`"),
    "many": (_many, "more than"),
    "deep-folders": (_deep_folders, "no answer.json in it"),
    "nothing": (lambda _: None, "no answer.json in it"),
    "long-seed": (lambda place: say(place, seed="s" * 3000), "seed"),
    "terminal-in-the-seed": (lambda place: say(place, seed="\x1b[2J"), "printable"),
    "minus-five-tries": (lambda place: say(place, tries=-5), "tries"),
    "no-seed": (lambda place: say(place, seed=""), "its answer is on the page"),
    "no-chain": (lambda place: say(place, chain="nothing=a"), "want one of"),
    "no-lab": (lambda place: say(place, lab=10**30), "lab"),
}

_TEXT = st.text(max_size=40) | st.sampled_from(["", "anna", "\udcff", "a" * 400])
_VALUE = st.none() | st.booleans() | st.integers() | st.floats() | _TEXT
_KEYS = st.sampled_from([*GOOD, "tries", "other"])
# Values of an answer that take the place of good ones.
CHANGES = st.dictionaries(_KEYS, _VALUE | st.lists(_VALUE, max_size=3), max_size=3)
# Bytes in the place of an answer.
NOISE = st.binary(max_size=200)
FOLDERS = st.one_of(
    CHANGES,
    NOISE,
    st.sampled_from([name for name in HOSTILE if name not in ("long-line", "many")]),
)


def make(place: Path, drawn: Any) -> None:
    """A student's folder as it was drawn."""
    place.mkdir()
    if isinstance(drawn, bytes):
        (place / work.ANSWER).write_bytes(drawn)
    elif isinstance(drawn, str):
        HOSTILE[drawn][0](place)
    else:
        say(place, **drawn)
