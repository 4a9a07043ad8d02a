# SPDX-License-Identifier: GPL-2.0-only
"""run_directory: read the manifest and files of docs/run-directory.md."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from writestall.common import compressed
from writestall.common.compressed import DEFAULT, Bound
from writestall_base import files
from writestall_base.errors import UserError
from writestall_base.folders import Drafts, refuse_special

ENGINES = ("stap", "core", "bpftrace")  # bpftrace: in recorded runs alone
MANIFEST_FORMAT = 1
MOST_MANIFEST_BYTES = 16 << 20
END_OF_TIME_NS = 1 << 63  # include/linux/ktime.h, KTIME_MAX
# Endings of event files in a run that was stored away; what they are, the bytes decide.
_STORED = ("", ".gz", ".xz", ".bz2", ".zst")


EVENTS_ALONE = "events alone, no manifest.json; names and versions unknown"
SO_FAR = "read as far as it goes"


@dataclass(slots=True)
class RunDir:
    """One run. `manifest` is empty when it could not be read; `notes` says why.

    `bare` is set where there is nothing but a file of events: its engine and its place.
    Then `path` is a folder beside the file for what the analysis writes, there or not.
    `bound`: how much compressed events may unpack to.
    """

    path: Path
    manifest: dict[str, Any] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    bare: tuple[str, Path] | None = None
    bound: Bound = DEFAULT

    def get(self, *keys: str) -> Any:
        """A value of the manifest by its keys from the top; None where it is absent."""
        value: Any = self.manifest
        for key in keys:
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def realtime_ns(self, t_ns: int) -> int | None:
        """CLOCK_MONOTONIC as time since the epoch, as the run's two clocks stood."""
        here = self.get("clock", "monotonic_ns")
        there = self.get("clock", "realtime_ns")
        if isinstance(here, int) and isinstance(there, int):
            found_ns = there + t_ns - here
            return found_ns if 0 <= found_ns < END_OF_TIME_NS else None
        return None

    @property
    def of_host(self) -> bool:
        """Whether a host was recorded: there is no scenario, and no client's record."""
        return isinstance(self.get("recorded"), dict)

    def engines(self) -> list[str]:
        """Engines whose events are there."""
        if self.bare:
            return [self.bare[0]]
        return [name for name in ENGINES if os.path.lexists(self.events(name))]

    def save(self, name: str, data: bytes) -> None:
        """Writes a file into the run; a link in its place is not followed."""
        self._make()
        files.save_inside(self.path, name, data, link=not self.bare)

    def save_joined(self, name: str, fill: Callable[[Drafts], list[str]]) -> None:
        """Writes a file into the run, out of drafts."""
        self._make()
        files.save_joined(self.path, name, fill, link=not self.bare)

    def _make(self) -> None:
        """Make the folder for bare events, which a stranger may not have linked."""
        if self.bare:
            # A place that refuses is named by who writes the file.
            with suppress(OSError):
                self.path.mkdir(exist_ok=True)

    def events(self, engine: str) -> Path:
        """The event file of an engine, there or not, compressed or not."""
        if self.bare and engine == self.bare[0]:
            return self.bare[1]
        path = self.path / "events" / f"{engine}.jsonl"
        stored = (path.with_name(path.name + ending) for ending in _STORED)
        return next((place for place in stored if os.path.lexists(place)), path)

    def pick_engine(self, wanted: str | None) -> str:
        """The wanted engine, else the first that left events; raises without any."""
        there = self.engines()
        if wanted in there or (wanted is None and there):
            return wanted or there[0]
        want = " or ".join(f"{name}.jsonl" for name in (wanted and [wanted]) or ENGINES)
        have = f"there is {there[0]}" if there else "was a tracer started?"
        raise UserError(f"{self.path / 'events'}: no {want}; {have}")


def runs_in(folder: Path) -> Iterator[Path]:
    """The run directories in a folder, by name; a link to one is none of its own."""
    for manifest in sorted(folder.glob("*/manifest.json")):
        if not manifest.parent.is_symlink():
            yield manifest.parent


def open_run(path: Path, bound: Bound = DEFAULT) -> RunDir:
    """Opens a run directory, or a file of events; raises UserError where there
    is neither, or the directory holds a link, a device, a FIFO or a socket.

    A manifest that is missing or broken is a note: the events still speak.
    """
    if str(path) == "-" or (path.exists() and not path.is_dir()):
        return _open_events(path, bound)
    if not path.exists():
        raise UserError(f"{path}: no such run")
    run = RunDir(path, bound=bound)
    manifest = path / "manifest.json"
    if not os.path.lexists(manifest) and not run.engines():
        raise UserError(
            f"{path}: not a run directory (no manifest.json, no events/*.jsonl)"
        )
    refuse_special(path)
    try:
        run.manifest = _load(manifest)
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError) as error:
        run.notes.append(f"manifest.json: {_reason(error)}; names and versions unknown")
    if run.manifest:
        _note_status(run)
        _note_late(run)
    return run


def are_events(head: bytes) -> bool:
    """True where a tracer's events begin so, with or without messages before them."""
    return _EVENT.search(head) is not None


# The line before it may be what the engine printed while it compiled.
_EVENT = re.compile(rb'^\s{0,8}\{\s?"ev"\s?:\s?"', re.MULTILINE)
_ENGINE = re.compile(rb'"engine"\s?:\s?"(stap|core|bpftrace)"')


def _open_events(path: Path, bound: Bound) -> RunDir:
    """What a tracer printed, without the directory of a run around it."""
    with files.naming(path):
        head = compressed.head(str(path))
    if not are_events(head):
        raise UserError(
            f"{path}: not a run directory (it is a file), and no events in it"
        )
    engine = _ENGINE.search(head)
    name = "stdin" if str(path) == "-" else path.name
    run = RunDir(path.with_name(f"{name}.explained"), bound=bound)
    run.notes.append(EVENTS_ALONE)
    # The user gave the path: its links are followed, once.
    place = path.resolve() if path.is_symlink() else path
    run.bare = engine[1].decode() if engine else ENGINES[0], place
    return run


def _load(path: Path) -> dict[str, Any]:
    value = msgspec.json.decode(files.content(path, MOST_MANIFEST_BYTES))
    if not isinstance(value, dict):
        raise ValueError("not a table")
    return value


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or "unreadable"
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error)


def _note_status(run: RunDir) -> None:
    if run.get("format") != MANIFEST_FORMAT:
        run.notes.append(
            f"manifest.json: format {run.get('format')!r}, this version reads "
            f"{MANIFEST_FORMAT}; {SO_FAR}"
        )
    status = run.get("status")
    if not isinstance(status, str):
        run.notes.append("manifest.json: no status; whether the run ended is unknown")
        return
    if status == "running":
        status = "cut_off"
    if status != "complete":
        why = run.get("reason") or "no reason given"
        run.notes.append(f"the run is {status}, not complete: {why}")


def _note_late(run: RunDir) -> None:
    """Name the commands that the lab had to end."""
    for row in (*tables([run.get("writer")]), *tables(run.get("load"))):
        if late_s := row.get("late_s"):
            run.notes.append(
                f"{row.get('name')} had not ended {late_s} s after its time: the lab "
                "ended it"
            )


def tables(value: Any) -> list[dict[str, Any]]:
    """The tables of a list in a manifest; none where it is no list."""
    rows = value if isinstance(value, list) else []
    return [row for row in rows if isinstance(row, dict)]


def json_bytes(value: object) -> bytes:
    """A value as JSON for people, too: two-space indented, one line end."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"
