# SPDX-License-Identifier: GPL-2.0-only
"""text: print an answer, its summary sentence first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec import UNSET

from writestall.chain.answers import Answer
from writestall.chain.cgroups import crosses
from writestall.chain.collect import Chains
from writestall.chain.merge import merged, unqueued
from writestall.chain.parts import INFERRED, WAIT, Chain, Part, Task
from writestall.chain.requests import unslept
from writestall.chain.roots import Root
from writestall.chain.totals import by_file
from writestall.events.calls import GROUPS
from writestall.events.hlog import Latencies
from writestall.events.other_sleeps import other_sleeps
from writestall.report.amounts import amount, unit_of
from writestall.report.commits import filled_by, journals
from writestall.report.headline import headline
from writestall_base import wait_classes as c
from writestall_base.units import many, ms, percent, shares

LEFT_COLUMN = 74
CONVOY_NAMES = 3
CALL_NAMES = 3
_KNOWN = frozenset(name for names in GROUPS.values() for name in names)


def report(
    answer: Answer, top: int, only: int | None = None, more: Iterable[str] = ()
) -> Iterator[str]:
    """Yield the report; `only` selects one write by its number in the list.

    `more` is printed between the chains and the summary.
    """
    yield from losses(answer)
    if said := headline(answer):
        yield said
    yield sentence(answer)
    yield from others_line(answer)
    yield from requests_line(answer)
    for stream in journals(answer, []):
        yield from filled_by(stream, answer.labels, answer.run.get("device", "dev"))
    yield from (f"note: {note}" for note in answer.notes)
    groups = list(answer.convoys.values())
    if only is not None:
        groups = [answer.slowest[only - 1 : only]]
        top = 1
    for convoy in groups[:top]:
        yield ""
        yield from chain_lines(answer, convoy)
    if len(groups) > top:
        yield ""
        yield f"{len(groups) - top} more chains: --top {len(groups)} shows all"
    yield from more
    yield ""
    yield from summary_lines(answer)


def losses(answer: Answer) -> Iterator[str]:
    """State in one line what the tracers lost; nothing if they lost nothing."""
    lost = [item for item in answer.stream.lost if item.count]
    if not lost:
        if answer.stream.lost_events:
            yield f"LOST: {answer.stream.lost_events} events; chains have gaps"
        return
    sums = Counter[str]()
    for item in lost:
        sums[f"{item.what or 'events'} ({item.why or 'no reason given'})"] += item.count
    losses_text = ", ".join(f"{count} {what}" for what, count in sums.items())
    yield f"LOST: {losses_text}; what follows was built on the rest"


def sentence(answer: Answer) -> str:
    """Summarize the answer in one sentence."""
    count = len(answer.writes)
    if not count:
        seen = answer.latencies
        slowest = f"; the slowest took {ms(seen.max_ns)}" if seen else ""
        what = "call of those chosen" if answer.unchosen else "write"
        limit = ms(answer.stream.limit_ns)
        return f"No {what} stalled for {limit} or more{slowest}."
    root, ns = main_root(answer.all_roots)
    return (
        f"{_stalled(answer)}; {percent(ns, answer.stall_ns)} of that time "
        f"{_phrase(root)}{answer.in_words(root).removeprefix(str(root))}."
    )


def _stalled(answer: Answer) -> str:
    """Count the stalled calls: writes, if all are, else calls and what they were."""
    worst = f"stalled, worst {ms(answer.longest_ns)}"
    count = f"{many(len(answer.writes), noun(answer))} {worst}"
    if noun(answer) == "write":
        return count
    kinds = Counter(
        write.name if (write.call or "write") in _KNOWN else "unknown"
        for _, write in answer.writes
    ).most_common()
    names = [f"{number} {name}" for name, number in kinds[:CALL_NAMES]]
    rest = sum(number for _, number in kinds[CALL_NAMES:])
    names += [f"{rest} others"] if rest else []
    return f"{count} ({', '.join(names)})"


def noun(answer: Answer) -> str:
    """What the stalled calls are: writes, if all are."""
    return "write" if all(write.writes for _, write in answer.writes) else "call"


def others_line(answer: Answer) -> Iterator[str]:
    """Sum the long sleeps of programs that are in no call listed; nothing if none."""
    found = other_sleeps(answer.stream)
    if found:
        longest_ns = max(row.longest_ns for row in found)
        yield (
            f"{sum(row.dur_ns for row in found) / 1e9:.1f} s of sleeps in other calls, "
            f"the longest {ms(longest_ns)}; explain --other shows where"
        )


def requests_line(answer: Answer) -> Iterator[str]:
    """Count the long I/Os that no call listed slept for; nothing if none."""
    found = unslept(answer.stream)
    if found:
        longest_ns = max(row.longest_ns for row in found)
        of = ", ".join(map(str, found[:CALL_NAMES]))
        count = many(sum(row.count for row in found), "slow I/O")
        yield (
            f"{count} that no call listed waited for, the longest "
            f"{ms(longest_ns)}: {of}"
        )


def others(answer: Answer) -> Iterator[str]:
    """Yield the stacks of sleeps in other calls, the most time first."""
    found = other_sleeps(answer.stream)
    if not found:
        yield "No program slept for as long as a stall outside the calls listed."
    for row in found:
        yield (
            f"{many(row.count, 'sleep')}, {ms(row.dur_ns)} in sum, the longest "
            f"{ms(row.longest_ns)}: {', '.join(row.comms)}"
        )
        yield from (f"    {frame}" for frame in row.stack)


def main_root(roots: dict[Root, int]) -> tuple[Root, int]:
    """The root with most time; `unexplained` if there is none."""
    return next(iter(roots.items()), (Root(c.UNEXPLAINED, ""), 0))


def _phrase(root: Root) -> str:
    """Word a root as the end of a sentence."""
    who, device = root.who, root.device or ""
    through = {"jbd2": " through jbd2's commit", "the writer": " by the call itself"}
    phrases = {
        c.DEVICE_IO: f"was spent waiting for {device}"
        + through.get(root.who, f" through {who}"),
        c.RUNQUEUE: f"was spent by {who} waiting for a CPU",
        c.RUNNING: f"was spent by {who} on a CPU",
        c.DIRTY_THROTTLE: "was spent in dirty throttling",
        c.MEMORY: "was spent waiting for memory",
        c.TIMER: f"was spent by {who} asleep until a timer expired",
        c.UNEXPLAINED: "is unexplained",
        c.OTHER: "was spent in sleeps too short to trace",
    }
    if root.cap is not None:
        return f"was spent waiting for the I/O of {root}"
    return phrases.get(root.cls, f"was spent in {root.cls} by {who}")


def chain_lines(answer: Answer, convoy: Chains) -> Iterator[str]:
    """Yield one write's tree, and the writes that waited with it."""
    chain = convoy[0]
    write = chain.write
    unit_ns = unit_of(write.dur_ns)
    size = f" {write.bytes} B" if write.bytes is not None else ""
    took = amount(round(write.dur_ns / unit_ns), unit_ns)
    head = f"{write.name} {write.path or '?'}{size} took {took}"
    parts = merged(unqueued(part) for part in chain.parts)
    place = (
        f" in {answer.labels(str(chain.task.cgroup))}" if _crosses(chain, parts) else ""
    )
    yield f"{head:<{LEFT_COLUMN}}  {_name(answer, chain.task)}{place}"
    yield from _tree(answer, chain, parts, write.tid)
    root, ns = main_root(answer.roots([chain]))
    yield _root_line(chain, root, ns, answer.operations_of(chain, root, ns))
    yield from _company(answer, convoy[1:])


def path_lines(answer: Answer, path: Chain) -> Iterator[str]:
    """Yield the tree of a request's critical path, and its root."""
    parts = merged(unqueued(part) for part in path.parts)
    yield "its critical path:"
    yield from _tree(answer, path, parts, path.task.tid)
    yield _root_line(path, *main_root(answer.roots([path])))


def _root_line(chain: Chain, root: Root, ns: int, did: str = "") -> str:
    """How much of a chain is explained, and what most of it comes down to."""
    whole_ns = chain.write.dur_ns
    return (
        f"explained {percent(chain.explained_ns, whole_ns)}   "
        f"root: {root!s} ({percent(ns, whole_ns)}{did and f', {did}'})"
    )


def _crosses(chain: Chain, parts: Iterable[Part]) -> bool:
    """Whether the chain leads to another cgroup, so that the own one is to be named."""
    own = chain.task.cgroup
    return crosses(own, UNSET) and any(
        (part.holder and crosses(part.holder.cgroup, own))
        or (part.cap and crosses(part.cap.cgroup, own))
        or _crosses(chain, part.parts)
        for part in parts
    )


def _company(answer: Answer, others: Chains) -> Iterator[str]:
    if not others:
        return
    names = [
        f"{_name(answer, chain.task)} {ms(chain.write.dur_ns)}"
        for chain in others[:CONVOY_NAMES]
    ]
    more = len(others) - len(names)
    names += [f"{more} more"] if more else []
    count = many(len(others), "more call")
    yield f"{count} behind the same root: {', '.join(names)}"


def _tree(
    answer: Answer, chain: Chain, parts: tuple[Part, ...], of: int
) -> Iterator[str]:
    """Yield the lines below a chain's first, those that round to nothing left out.

    `parts` are its own, merged; `of` is the thread whose time it is, named by the line
    above.
    """
    unit_ns = unit_of(chain.write.dur_ns)

    def lines(
        parts: tuple[Part, ...], total: int, indent: str, of: int
    ) -> Iterator[str]:
        dealt = shares(
            sum(part.dur_ns for part in parts), [part.dur_ns for part in parts], total
        )
        rows = [row for row in zip(parts, dealt, strict=True) if row[1]]
        for at, (part, units) in enumerate(rows):
            words = _words(answer, chain, part)
            left = f"{indent}+- {amount(units, unit_ns)} {words}"
            right = _right(answer, part, of)
            yield f"{left:<{LEFT_COLUMN}}  {right}" if right else left
            inner = indent + ("|  " if at + 1 < len(rows) else "   ")
            holder = part.holder.tid if part.holder else of
            yield from lines(part.parts, units, inner, holder)

    yield from lines(parts, round(chain.write.dur_ns / unit_ns), "", of)


def _words(answer: Answer, chain: Chain, part: Part) -> str:
    """Describe a part: class, functions, and a root's disk and number of waits."""
    words = [part.kind if part.kind != WAIT else part.cls]
    if part.cls == c.DEVICE_IO and not part.parts:
        disk = answer.root_of(chain, part).device or "?"
        words.append(f"{disk}, {part.waits} waits" if part.waits > 1 else disk)
    if part.cap:
        words.append(f"for {answer.root_of(chain, part)}")
    if part.path:
        words.append(" > ".join(name for name in part.path[-2:]))
    if part.kind not in (WAIT, c.RUNQUEUE):
        words.append(part.why)
    return "  ".join(words)


def _right(answer: Answer, part: Part, of: int) -> str:
    """Name the holder that a part waited for, or the task of a root."""
    guess = " (inferred)" if part.link == INFERRED else ""
    if part.holder:
        queue = f", {part.queue} in the queue before" if part.queue else ""
        who = f"{_name(answer, part.holder)}{_place(answer, part, part.holder)}"
        how = "woken by" if part.cls in c.USER_WAITS else "held by"
        return f"{how} {who}{_since(part)}{queue}{guess}"
    if part.owner and part.owner.tid and not part.parts:
        who = f"{_name(answer, part.owner)}{_place(answer, part, part.owner)}"
        return f"submitted by {who}{guess}"
    if part.kind == WAIT and not part.parts and part.task.tid != of:
        return f"{_name(answer, part.task)}{guess}"
    return guess.strip()


def _since(part: Part) -> str:
    """When its holder had the lock, from the start of the wait on."""
    if part.since_ns is None or part.start_ns is None:
        return ""
    return f" since {round((part.since_ns - part.start_ns) / 1e6):+d} ms"


def _place(answer: Answer, part: Part, other: Task) -> str:
    """The cgroup of a holder, or of an I/O, where it is not that of who waits."""
    if not crosses(other.cgroup, part.task.cgroup):
        return ""
    word = "in" if other is part.holder else "for"
    return f" {word} {answer.labels(str(other.cgroup))}"


def _name(answer: Answer, task: Task) -> str:
    return f"{answer.thread(task.tid, task.comm)}/{task.tid}"


def latency_line(name: str, latencies: Latencies | None, note: str = "") -> str:
    """Format a count and its percentiles."""
    if latencies is None:
        return f"{name}: not recorded"
    return (
        f"{name} {latencies.writes}   p50 {ms(latencies.p50_ns)}   "
        f"p99 {ms(latencies.p99_ns)}   p99.9 {ms(latencies.p999_ns)}   "
        f"max {ms(latencies.max_ns)}{note}"
    )


def summary_lines(answer: Answer) -> Iterator[str]:
    """Yield the table below the chains."""
    latencies = answer.latencies
    if latencies:
        yield latency_line(answer.counted, latencies, "   (from the intended start)")
    yield (
        f"stalls {len(answer.writes)}   {ms(answer.stall_ns)} in sum   "
        f"explained {percent(answer.share_explained)}"
    )
    if not answer.writes:
        return
    yield from _shares("calls", by_file(answer.writes), answer.stall_ns)
    yield from _shares("waited for", answer.ns_by_class, answer.stall_ns)
    roots = {answer.in_words(root): ns for root, ns in answer.all_roots.items()}
    yield from _shares("root", roots, answer.stall_ns)
    lost = answer.stream.lost_events
    summary = answer.summary()
    yield (
        f"lost events {lost}   engine {answer.engine}   "
        f"kernel {summary['kernel'] or '?'!s}   "
        f"{_where(answer)}"
    )


def _where(answer: Answer) -> str:
    """What ran: a scenario of the lab, or a host."""
    if answer.run.of_host:
        return f"host {answer.run.get('host', 'name') or '?'!s}"
    return f"scenario {answer.summary()['scenario'] or '?'!s}"


def _shares(title: str, sums: dict[str, int], total_ns: int) -> Iterator[str]:
    yield f"{title}:"
    for name, ns in sums.items():
        yield f"  {ms(ns):>10}  {percent(ns, total_ns):>7}  {name}"
