# SPDX-License-Identifier: GPL-2.0-only
"""expect: turns a scenario's `expect` table and an answer into what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from writestall.chain import clients
from writestall.chain.answers import Answer
from writestall.chain.parts import WAIT, Chain, Part
from writestall.common.errors import WritestallError

LEAST_EXPLAINED = 0.95
# They slow a disk from below: whoever hands it a bio goes on.
HOLDS_NOBODY = ("dm-delay", "scsi_debug")
MS = 1_000_000


@dataclass(frozen=True, slots=True)
class Expected:
    """The `expect` table of a scenario (docs/scenario-format.md)."""

    chain: tuple[str, ...]
    stalled_writes_min: int
    stall_ms_min: int
    stalled_writes_max: int | None
    application: dict[str, int]


def _longest_pause(answer: Answer, key: str) -> int:
    pause = clients.summary(answer)["application"].get("longest_pause") or {}
    return int(pause.get(key, 0))


def _latency(answer: Answer, of: str, key: str) -> int:
    found = clients.summary(answer)["application"].get(of) or {}
    return int(found.get(key, 0))


@dataclass(frozen=True, slots=True)
class Ask:
    """One key of `expect`: what it bounds, and whether from above."""

    words: str
    value: Callable[[Answer], float]
    most: bool = False


ASKS = {
    "pause_ms_min": Ask(
        "longest pause, ms", lambda a: _longest_pause(a, "dur_ns") / MS
    ),
    "logging_ms_max": Ask(
        "longest logging in a pause, ms",
        lambda a: clients.longest_logging_ns(a) / MS,
        most=True,
    ),
    "threads_stopped": Ask(
        "threads stopped in it", lambda a: _longest_pause(a, "threads")
    ),
    "request_ms_min": Ask(
        "slowest request, ms", lambda a: _latency(a, "latency", "max_ns") / MS
    ),
    "writes_p999_below_us": Ask(
        "p99.9 of write(2), us",
        lambda a: _latency(a, "write", "p999_ns") / 1_000,
        most=True,
    ),
}


def expected(answer: Answer) -> Expected:
    """The table from the manifest; raises where it is absent or of another form."""
    table = answer.run.get("scenario", "expect")
    where = answer.run.path / "manifest.json"
    if not isinstance(table, dict):
        raise WritestallError(f"{where}: no scenario.expect table to hold the run to")
    try:
        chain = tuple(_chain(table, answer.run.get("injector", "name")))
        if not all(isinstance(cls, str) for cls in chain):
            raise TypeError("chain")
        most = table.get("stalled_writes_max")
        return Expected(
            chain,
            int(table["stalled_writes_min"]),
            int(table["stall_ms_min"]),
            None if most is None else int(most),
            {name: int(table[name]) for name in ASKS if table.get(name) is not None},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise WritestallError(f"{where}: scenario.expect: bad {error}") from None


def _chain(table: dict[str, Any], injector: object) -> Any:
    """Where no task is held with its bios, a chain may end above one that was."""
    other = table.get("unheld_chain") if injector in HOLDS_NOBODY else None
    return other or table["chain"]


def misses(answer: Answer) -> Iterator[str]:
    """One line for each thing the run was to show and does not."""
    want = expected(answer)
    status = answer.run.get("status")
    if status != "complete":
        yield f"status: {status}, want complete"
    long = [wr for _, wr in answer.writes if wr.dur_ns >= want.stall_ms_min * MS]
    if len(long) < want.stalled_writes_min:
        yield (
            f"stalled writes of {want.stall_ms_min} ms and more: {len(long)}, want "
            f"{want.stalled_writes_min}"
        )
    most = want.stalled_writes_max
    if most is not None and len(answer.writes) > most:
        yield f"stalled writes: {len(answer.writes)}, want {most} at most"
    if want.chain and not any(_holds(chain, want.chain) for chain in answer.chains):
        yield f"chain {' > '.join(want.chain)}: in none of {len(answer.writes)} writes"
    if answer.writes and answer.share_explained < LEAST_EXPLAINED:
        share = answer.share_explained
        yield f"explained: {share:.4f} of the stall time, want {LEAST_EXPLAINED}"
    yield from _application_misses(answer, want.application)
    if answer.stream.lost_events:
        yield f"lost events: {answer.stream.lost_events}, want 0"


def _application_misses(answer: Answer, wanted: dict[str, int]) -> Iterator[str]:
    if wanted and answer.application is None:
        yield f"writer.jsonl: no application's record, so no {', '.join(wanted)}"
        return
    for name, bound in wanted.items():
        ask = ASKS[name]
        value = ask.value(answer)
        if (value > bound) if ask.most else (value < bound):
            yield f"{ask.words}: {value:g}, want {bound} at {_END[ask.most]}"


_END = {True: "most", False: "least"}


def _holds(chain: Chain, want: Sequence[str]) -> bool:
    """True when the classes follow each other on one way from write to root."""
    return any(_follows(part, (), tuple(want)) for part in chain.parts)


def _follows(part: Part, above: tuple[str, ...], want: tuple[str, ...]) -> bool:
    way = (*above, part.cls) if part.kind == WAIT else above
    if way[-len(want) :] == want:
        return True
    return any(_follows(inner, way, want) for inner in part.parts)
