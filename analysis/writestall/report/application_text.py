# SPDX-License-Identifier: GPL-2.0-only
"""application_text: print what stopped an application."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from writestall.chain import clients
from writestall.chain.answers import Answer
from writestall.chain.clients import LOCK, QUEUE, WRITE, Delay, Stop
from writestall.chain.parts import Chain
from writestall.events.application import BROKER, COMMAND, SAFEPOINT, Application
from writestall.events.contract import Request, Write
from writestall.report.amounts import amount, unit_of
from writestall.report.complaints import (
    MEANWHILE,
    OTHERS,
    OUTSIDE,
    OWN,
    UNKNOWN,
    Dealt,
    Joined,
    Joins,
    joins,
    sum_ns,
    summed,
)
from writestall.report.flight_recorder import witness
from writestall.report.headline import unjoined
from writestall.report.text import LEFT_COLUMN, latency_line, main_root, path_lines
from writestall_base.units import many, ms, percent, shares

# What each part of a request means.
_PARTS = {
    QUEUE: "no request thread was free",
    LOCK: "another request held its partition's lock",
    WRITE: "its own write(2)",
}


Moment = Stop | Delay | Joined


def lines(answer: Answer, top: int) -> Iterator[str]:
    """Yield what the application saw; nothing if there is no record."""
    if answer.application is None:
        return
    yield ""
    yield from overview(answer)
    for row in moments(answer, top):
        yield from moment(answer, row)


def overview(answer: Answer) -> Iterator[str]:
    """Yield what is known of all pauses, requests or complaints together."""
    app = answer.application
    if app is None:
        return
    kinds = {SAFEPOINT: _pauses, COMMAND: _complaints, BROKER: _requests}
    yield from kinds[app.program](answer, app)


def moments(answer: Answer, top: int) -> Sequence[Moment]:
    """The pauses, requests or complaints that are shown one by one, longest first."""
    app = answer.application
    if app is None:
        return ()
    if app.program == SAFEPOINT:
        # Pauses with a chain; if there are none, only the first pause.
        stops = clients.stops(answer)
        return [row for row in stops if row.chain][:top] or stops[:1]
    if app.program == BROKER:
        return clients.worst_delays(answer)
    found = joins(answer)
    return found.rows[:top] if found else ()


def moment(answer: Answer, row: Moment) -> Iterator[str]:
    """Yield one of them: its parts, and what is behind them."""
    if isinstance(row, Joined):
        yield from _complaint(answer, row)
    elif isinstance(row, Stop):
        yield from _stop(answer, row)
    else:
        yield from _delay(answer, row)


def _pauses(_: Answer, app: Application) -> Iterator[str]:
    yield "the application: all threads stop while one line is logged"
    yield latency_line("pauses", app.pauses_all)
    yield latency_line("write(2) to the log", app.service)


def _stop(answer: Answer, stop: Stop) -> Iterator[str]:
    pause = stop.pause
    stopped = (
        f"{many(pause.threads, 'thread')} stopped, each for "
        f"{ms(pause.shortest_ns)} or more"
    )
    yield f"pause of {ms(pause.dur_ns):<{LEFT_COLUMN - 9}}  {stopped}"
    parts = [pause.reach_ns, pause.log_ns, pause.release_ns]
    words = [
        "until the last thread stopped",
        _logged(answer.application, stop),
        "until all were released",
    ]
    yield from _parts(pause.dur_ns, parts, words)
    if stop.write:
        yield from _behind(answer, stop.chain, False)


def _logged(app: Application | None, stop: Stop) -> str:
    if stop.write:
        covered = percent(stop.covered_ns, stop.pause.dur_ns)
        return f"write(2) {stop.write.path or '?'}, {covered} of the pause"
    queued = app and app.asynchronous
    return "queueing the line" if queued else "write(2) to the log"


def _parts(total_ns: int, parts: Sequence[int], words: Sequence[str]) -> Iterator[str]:
    """Yield parts that add up to the whole, in whole ms if that is precise enough."""
    unit_ns = unit_of(total_ns)
    dealt = shares(sum(parts), parts, round(total_ns / unit_ns))
    for units, word in zip(dealt, words, strict=True):
        if units:
            yield f"+- {amount(units, unit_ns)} {word}"


def _behind(answer: Answer, chain: Chain | None, guessed: bool) -> Iterator[str]:
    """Yield the root of the write that caused it; `guessed` from the times alone."""
    if chain is None:
        yield "   no chain: the write was not traced as stalled"
        return
    numbers = {id: at for at, (id, _) in enumerate(answer.slowest.writes, 1)}
    number = numbers.get(chain.id)  # --call may have left it out
    shown = f"; --write {number} shows its chain" if number else ""
    guess = " (inferred)" if guessed else ""
    root, ns = main_root(answer.roots([chain]))
    yield (
        f"   root{guess}: {root!s} ({percent(ns, chain.write.dur_ns)} of "
        f"{ms(chain.write.dur_ns)}){shown}"
    )


def _requests(answer: Answer, app: Application) -> Iterator[str]:
    yield "the application: requests append under one lock per partition"
    yield latency_line("requests", answer.latencies, "   (from the intended start)")
    yield latency_line("write(2)", app.service)
    slow = clients.counts(answer)
    total = sum(slow.values())
    yield f"slow requests {total} ({ms(app.slow_ns)} and more), by what took most:"
    for name, count in slow.items():
        yield f"  {count:>7}  {percent(count, total):>7}  {name}: {_PARTS[name]}"


def _delay(answer: Answer, row: Delay) -> Iterator[str]:
    request = row.request
    head = (
        f"request {request.seq} to partition {request.partition} "
        f"took {ms(request.dur_ns)}"
    )
    yield f"{head:<{LEFT_COLUMN}}  thread {request.tid}"
    parts = [request.queue_ns, request.lock_ns, request.write_ns]
    words = [
        f"queue{_by('behind', row.ahead, ' (inferred)')}",
        f"lock{_by('held by', row.holder)}",
        f"write(2) {request.path or '?'}",
    ]
    yield from _parts(request.dur_ns, parts, words)
    yield from _behind(answer, row.chain, row.longest == QUEUE)


def _by(how: str, other: Request | None, guess: str = "") -> str:
    """Name the request whose write occupied a thread or held a lock."""
    if other is None:
        return ""
    took = f"its write(2) took {ms(other.write_ns)}"
    return f"  {how} request {other.seq}, thread {other.tid}: {took}{guess}"


# Where the time of a complaint went.
_WHERE = {
    OWN: "its own stalled calls{own}",
    OTHERS: "calls of tasks that it waited for",
    OUTSIDE: "in no call of a file system",
    MEANWHILE: "unknown: may have waited for stalled calls of other tasks (inferred)",
    UNKNOWN: "unknown",
}

# The same of one complaint.
_IS = _WHERE | {
    OWN: "own{own} {calls}",
    OTHERS: "waited for {calls}",
    MEANWHILE: "unknown, may have waited for {calls}",
}

# Stages of a request, where the calls show more than its program does.
_SPLIT = {
    ("local", OWN): "write",
    ("send", UNKNOWN): "network",
}

# The part of it in which the JVM had stopped all threads.
_STOPPED = "safepoint"


def _complaints(answer: Answer, _: Application) -> Iterator[str]:
    found = joins(answer)
    if found is None:
        return
    total_ns, limit = sum_ns(found.rows), ms(found.limit_ns)
    programs = sorted({row.complaint.program for row in found.rows})
    yield f"the application: what it said itself took {limit} and more"
    for comm, (calls, ns) in found.unwaited.items():
        stalled = f"{many(calls, 'stalled call')} of {comm}, {ms(ns)} in sum"
        yield f"{stalled}: nobody waits for that thread"
    if found.untraced:
        yield f"{many(found.untraced, 'complaint')} more when no tracer ran"
    yield from unjoined(found)
    if not (found.rows or found.unjoined):
        yield "no complaint"
    if not found.rows:
        return
    yield (
        f"{many(len(found.rows), 'complaint')} of {', '.join(programs)}, "
        f"{ms(total_ns)} in sum:"
    )
    guess = " (inferred)" if any(row.complaint.guessed for row in found.rows) else ""
    for name, ns in summed(found.rows).items():
        if ns:
            where = _WHERE[name].format(own=guess)
            yield f"  {ms(ns):>10}  {percent(ns, total_ns):>7}  {where}"
    yield from _by_stage(found)
    yield from _by_program(found)
    yield from _witness(answer, found)


def _by_stage(found: Joins) -> Iterator[str]:
    """Yield what stages of requests took."""
    split = Counter[str]()
    for dealt in (dealt for row in found.rows for dealt in row.stages):
        if stage := dealt.stage.name:
            for part, ns in dealt.parts.items():
                split[_SPLIT.get((stage, part), stage)] += ns
            split[_SPLIT.get((stage, MEANWHILE), stage)] -= dealt.stopped_ns
            split[_STOPPED] += dealt.stopped_ns
    stages = ", ".join(f"{name} {ms(ns)}" for name, ns in split.most_common() if ns)
    if stages:
        yield f"by stages of requests: {stages}"


def _by_program(found: Joins) -> Iterator[str]:
    """Yield the complaints of each program, where there are several."""
    programs = found.by_program
    for name, rows in programs.items() if len(programs) > 1 else ():
        parts = summed(rows)
        unknown_ns = parts[MEANWHILE] + parts[UNKNOWN]
        parts_text = [f"{ms(parts[OWN])} own"]
        parts_text += [f"{ms(parts[OTHERS])} of others"] if parts[OTHERS] else []
        parts_text += [f"{ms(parts[OUTSIDE])} in no call"] if parts[OUTSIDE] else []
        parts_text += [f"{ms(unknown_ns)} unknown"]
        longest = ms(rows[0].complaint.dur_ns)
        yield f"{name}: {len(rows)}, the longest {longest}: {', '.join(parts_text)}"


def _witness(answer: Answer, found: Joins) -> Iterator[str]:
    """Yield what a JVM's own recording confirms."""
    said = witness(answer, found)
    if said and (said.files or said.waits):
        yield (
            f"flight recorder: {said.files_seen} of {said.files} slow file operations"
            f" are calls listed here; of {many(said.waits, 'wait')} for a monitor,"
            f" {said.waits_seen} for a task that the request may have waited for"
        )


def _complaint(answer: Answer, row: Joined) -> Iterator[str]:
    complaint = row.complaint
    thread = f", thread {complaint.tid}" if complaint.tid is not None else ""
    head = f"{complaint.what} took {ms(complaint.dur_ns)}"
    yield f"{head:<{LEFT_COLUMN}}  {complaint.program}{thread}"
    dealt = [(stage, part) for stage in row.stages for part in stage.parts]
    parts = [stage.parts[part] for stage, part in dealt]
    guessed = complaint.guessed
    words = [_part(answer, stage, part, guessed) for stage, part in dealt]
    yield from _parts(complaint.dur_ns, parts, words)
    found = joins(answer)
    for path in row.paths:
        yield from path_lines(answer, path)
    if row.main and found and not row.paths:
        yield from _behind(answer, found.chain(row), guessed)


def _part(answer: Answer, dealt: Dealt, name: str, guessed: bool) -> str:
    """Name a part: in which stage it was, and its calls; `guessed` are own ones that
    no thread id joins."""
    stage = dealt.stage.name
    if stage:
        is_stopped = name == MEANWHILE and 2 * dealt.stopped_ns > dealt.parts[MEANWHILE]
        stage = _STOPPED if is_stopped else _SPLIT.get((stage, name), stage)
        stage += ": "
    guess = " (inferred)" if guessed else ""
    return stage + _IS[name].format(calls=_calls(answer, dealt.calls(name)), own=guess)


def _calls(answer: Answer, rows: Sequence[tuple[int, Write]]) -> str:
    """Name the call that took most, and how many there are besides it."""
    if not rows:
        return ""
    write = rows[0][1]
    more = f", and {many(len(rows) - 1, 'more call')}" if len(rows) > 1 else ""
    who = f"{answer.thread(write.tid, write.comm or '?')}/{write.tid}"
    return f"{write.name} {write.path or '?'} of {who}, {ms(write.dur_ns)}{more}"
