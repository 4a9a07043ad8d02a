# SPDX-License-Identifier: GPL-2.0-only
"""headline: say in the application's words what took long, and what it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch

from writestall.chain import clients
from writestall.chain.answers import Answer
from writestall.chain.clients import LOCK, QUEUE, WRITE
from writestall.common import scales
from writestall.common.windows import common_ns, window_of
from writestall.events.application import BROKER, COMMAND, SAFEPOINT
from writestall.events.contract import Write
from writestall.report.complaints import (
    MEANWHILE,
    OTHERS,
    OUTSIDE,
    OWN,
    UNKNOWN,
    Joined,
    Joins,
    joins,
)
from writestall_base.units import S_NS, many, ms, percent

# What programs call their files; the first pattern that fits a path names it.
FILES = {
    "jvm": (("*gc*.log*", "the GC log"),),
    "postgresql": (("pg_wal/*", "the WAL"),),
    "etcd": (("*.wal", "the WAL"), ("snap/db", "its database")),
    "redis": (("*.aof", "the AOF"),),
    "sqlite-wal": (("*-wal", "the WAL"),),
}
# A thing that took long is one call if that took as much of it.
MOST_OF_IT = 0.9
TOO_SHORT = "calls too short to be listed"
# Parts below this share are left out.
LEAST_SHARE = 0.01
_PARTS = {
    QUEUE: "waited most for a free thread",
    LOCK: "most for another's lock",
    WRITE: "most in {own} write(2)",
}


@dataclass(frozen=True, slots=True)
class _Slow:
    """A pause, request or complaint: where its time went, in ns, and its main calls.

    `calls` are named, longest first, with their time in it.
    """

    noun: str
    dur_ns: int
    parts: dict[str, int]
    calls: dict[str, tuple[tuple[str, int], ...]]

    @property
    def alone(self) -> str | None:
        """The call of its own that is most of it; None if it is no one call."""
        own = self.calls.get(OWN, ())
        most = self.parts[OWN] >= MOST_OF_IT * self.dur_ns
        return own[0][0] if most and len(own) == 1 else None


def headline(answer: Answer) -> str | None:
    """The sentence; None where no application said that anything took long."""
    app = answer.application
    if app is None:
        return None
    if app.program == BROKER:
        return _requests(answer)
    rows = {SAFEPOINT: _pauses, COMMAND: _complaints}[app.program](answer)
    groups: dict[str, list[_Slow]] = {}
    for row in rows:
        groups.setdefault(row.noun, []).append(row)
    if not groups:
        found = joins(answer)
        return next(unjoined(found), None) if found else None
    return _sentence(max(groups.values(), key=_sum_ns))


def unjoined(found: Joins) -> Iterator[str]:
    """Count the slow requests that cannot be joined to a call; nothing if none."""
    rows = found.unjoined
    if rows:
        programs = ", ".join(sorted({row.program for row in rows}))
        longest_ns = max(row.dur_ns for row in rows)
        yield (
            f"{many(len(rows), 'slow request')} of {programs}, the longest "
            f"{ms(longest_ns)}: none can be joined to a thread: no tid"
        )


def _sum_ns(rows: Iterable[_Slow]) -> int:
    return sum(row.dur_ns for row in rows)


def _sentence(rows: Sequence[_Slow]) -> str:
    """Of the rows that are most of the time: how many, how long, and what they were."""
    limit_ns, chosen = _limit(rows)
    limit = "a second" if limit_ns == S_NS else scales.label(limit_ns)
    what = f"{many(len(chosen), chosen[0].noun)} of {limit} and more"
    calls = {row.alone for row in chosen}
    if len(calls) == 1 and (call := calls.pop()):
        return f"{what}{', each' if len(chosen) > 1 else ':'} one {call}."
    return f"{what}: {', '.join(_parts(chosen))}."


def _limit(rows: Sequence[_Slow]) -> tuple[int, list[_Slow]]:
    """The greatest round time that leaves at least half of the time, and those rows."""
    for limit_ns in reversed(scales.EDGES_NS):
        chosen = [row for row in rows if row.dur_ns >= limit_ns]
        if 2 * _sum_ns(chosen) >= _sum_ns(rows):
            return limit_ns, chosen
    return 0, list(rows)


def _parts(rows: Sequence[_Slow]) -> Iterator[str]:
    """Where the time of all went."""
    whole_ns = _sum_ns(rows)
    least_ns = LEAST_SHARE * whole_ns
    ns = Counter[str]()
    for row in rows:
        ns.update(row.parts)
    if ns[OWN] >= least_ns:
        own = "its own" if len(rows) == 1 else "their own"
        yield f"{percent(ns[OWN], whole_ns)} in {own} {_own(rows, ns[OWN])}"
    if ns[OTHERS] >= least_ns:
        share = percent(ns[OTHERS], whole_ns)
        call = _longest(rows, OTHERS)
        yield f"{share} waiting for other tasks, most in {call}"
    if ns[OUTSIDE] >= least_ns:
        yield f"{percent(ns[OUTSIDE], whole_ns)} in no call of a file system"
    unknown_ns = ns[MEANWHILE] + ns[UNKNOWN]
    if unknown_ns >= least_ns:
        unknown = f"{percent(unknown_ns, whole_ns)} unknown"
        yield unknown + (_maybe(rows, ns) if ns[MEANWHILE] >= least_ns else "")


def _own(rows: Sequence[_Slow], own_ns: int) -> str:
    """What their own calls were: one call, one kind of call, or several."""
    sums = _calls_ns(rows, OWN)
    if not sums:
        return TOO_SHORT
    ((call, ns),) = sums.most_common(1)
    if ns >= MOST_OF_IT * own_ns:
        return call
    kind, _, file = call.partition(" ")
    alike_ns = sum(of for name, of in sums.items() if name.startswith(f"{kind} "))
    most = f"{kind}, most {file}" if alike_ns >= MOST_OF_IT * own_ns else None
    return f"{most or f'calls, most in {call}'} ({percent(ns, _sum_ns(rows))})"


def _maybe(rows: Sequence[_Slow], ns: Mapping[str, int]) -> str:
    """The calls that they may have waited for."""
    return (
        f": may have waited for stalled calls of other tasks, {ms(ns[MEANWHILE])} "
        f"meanwhile, most in {_longest(rows, MEANWHILE)} (inferred)"
    )


def _calls_ns(rows: Iterable[_Slow], name: str) -> Counter[str]:
    """How long all rows together were in each call of one part."""
    sums = Counter[str]()
    for row in rows:
        for call, ns in row.calls.get(name, ()):
            sums[call] += ns
    return sums


def _longest(rows: Iterable[_Slow], name: str) -> str:
    """The call of one part in which the rows were longest, all together."""
    longest = _calls_ns(rows, name).most_common(1)
    return longest[0][0] if longest else TOO_SHORT


def _complaints(answer: Answer) -> Iterator[_Slow]:
    found = joins(answer)
    for row in found.rows if found else ():
        names = OWN, OTHERS, MEANWHILE
        calls = {name: tuple(_calls(row, name)) for name in names}
        complaint = row.complaint
        yield _Slow(complaint.noun, complaint.dur_ns, row.parts, calls)


def _calls(row: Joined, name: str) -> Iterator[tuple[str, int]]:
    """The calls of one part, longest first, without trifles after the first."""
    complaint = row.complaint
    guess = " (inferred)" if name == OWN and complaint.guessed else ""
    for at, (_, write) in enumerate(row.calls(name)):
        if not at or write.dur_ns >= LEAST_SHARE * complaint.dur_ns:
            ns = common_ns(window_of(write), window_of(complaint))
            yield _call(complaint.program, write) + guess, ns


def _call(program: str, write: Write) -> str:
    """`write(2) to the GC log`, `fsync(2) of base/5/16384`."""
    path = write.path or "?"
    known = (words for form, words in FILES.get(program, ()) if fnmatch(path, form))
    return f"{write.name} {'to' if write.writes else 'of'} {next(known, path)}"


def _pauses(answer: Answer) -> Iterator[_Slow]:
    for stop in clients.stops(answer):
        dur_ns, own_ns = stop.pause.dur_ns, stop.covered_ns
        if dur_ns >= answer.stream.limit_ns:
            parts = {OWN: own_ns, MEANWHILE: 0, UNKNOWN: dur_ns - own_ns}
            write = stop.write
            calls = ((f"write(2) to {write.path or '?'}", own_ns),) if write else ()
            yield _Slow("pause", dur_ns, parts, {OWN: calls})


def _requests(answer: Answer) -> str | None:
    """By what took most of each: a slow request behind another has a fast write."""
    assert answer.application is not None
    counts = clients.counts(answer)
    if not counts:
        return None
    limit = scales.label(answer.application.slow_ns)
    parts = ", ".join(
        f"{count} {_PARTS[name].format(own='its' if count == 1 else 'their')}"
        for name, count in counts.items()
    )
    return f"{many(sum(counts.values()), 'request')} of {limit} and more: {parts}."
