# SPDX-License-Identifier: GPL-2.0-only
"""expect: compare an answer with its scenario's `expect` table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from writestall.chain import clients
from writestall.chain.answers import Answer
from writestall.chain.parts import WAIT, Chain, Part
from writestall_base.errors import UserError
from writestall_base.units import MS_NS, US_NS

LEAST_EXPLAINED = 0.95
# These injectors delay bios asynchronously: the submitter goes on.
ASYNCHRONOUS = ("dm-delay", "scsi_debug")


@dataclass(frozen=True, slots=True)
class Expected:
    """The `expect` table of a scenario (docs/scenario-format.md)."""

    chain: tuple[str, ...]
    stalled_writes_min: int
    stall_ms_min: int
    stalled_writes_max: int | None
    application: dict[str, int]


def _seen(answer: Answer, of: str, key: str) -> int:
    """A number of `application` of summary.json; 0 where it is not known."""
    found = clients.summary(answer)["application"].get(of) or {}
    return int(found.get(key, 0))


@dataclass(frozen=True, slots=True)
class Bound:
    """One key of `expect`: the value that it bounds, and whether from above."""

    words: str
    value: Callable[[Answer], float]
    most: bool = False


BOUNDS = {
    "pause_ms_min": Bound(
        "longest pause, ms", lambda a: _seen(a, "longest_pause", "dur_ns") / MS_NS
    ),
    "logging_ms_max": Bound(
        "longest logging in a pause, ms",
        lambda a: clients.longest_logging_ns(a) / MS_NS,
        most=True,
    ),
    "threads_stopped": Bound(
        "threads stopped in it", lambda a: _seen(a, "longest_pause", "threads")
    ),
    "request_ms_min": Bound(
        "slowest request, ms", lambda a: _seen(a, "latency", "max_ns") / MS_NS
    ),
    "writes_p999_below_us": Bound(
        "p99.9 of write(2), us",
        lambda a: _seen(a, "write", "p999_ns") / US_NS,
        most=True,
    ),
}


def expected(answer: Answer) -> Expected:
    """Read the table from the manifest; raise if it is missing or malformed."""
    table = answer.run.get("scenario", "expect")
    where = answer.run.path / "manifest.json"
    if not isinstance(table, dict):
        raise UserError(f"{where}: no scenario.expect table to compare the run with")
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
            {name: int(table[name]) for name in BOUNDS if table.get(name) is not None},
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"{where}: scenario.expect: bad {error}") from None


def _chain(table: dict[str, Any], injector: object) -> Any:
    """The expected chain; asynchronous injectors may have a shorter one."""
    other = table.get("unheld_chain") if injector in ASYNCHRONOUS else None
    return other or table["chain"]


def misses(answer: Answer) -> Iterator[str]:
    """Yield a line for each expectation that the run does not meet."""
    want = expected(answer)
    status = answer.run.get("status")
    if status != "complete":
        yield f"status: {status}, want complete"
    long = [wr for _, wr in answer.writes if wr.dur_ns >= want.stall_ms_min * MS_NS]
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
        yield f"writer.jsonl: no record of an application, so no {', '.join(wanted)}"
        return
    for name, bound in wanted.items():
        check = BOUNDS[name]
        value = check.value(answer)
        if (value > bound) if check.most else (value < bound):
            end = "most" if check.most else "least"
            yield f"{check.words}: {value:g}, want {bound} at {end}"


def _holds(chain: Chain, want: Sequence[str]) -> bool:
    """True if the classes follow each other on one path from write to root."""
    return any(_follows(part, (), tuple(want)) for part in chain.parts)


def _follows(part: Part, above: tuple[str, ...], want: tuple[str, ...]) -> bool:
    path = (*above, part.cls) if part.kind == WAIT else above
    if path[-len(want) :] == want:
        return True
    return any(_follows(inner, path, want) for inner in part.parts)
