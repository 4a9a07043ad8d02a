# SPDX-License-Identifier: GPL-2.0-only
"""application_timeline: draw an application's wait: request, lock, call, chain.

The first lane is the request, pause or complaint, and its parts; the next are those it
waited for; then come the calls behind it and their chains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from writestall.chain.answers import Answer
from writestall.chain.clients import LOCK, QUEUE, Delay, Stop
from writestall.chain.parts import Chain
from writestall.common.windows import Cover, Window, layered, window_of
from writestall.events.contract import Request
from writestall.report.chain_timeline import CALLS, Names, draw
from writestall.report.complaints import MEANWHILE, OTHERS, OWN, UNKNOWN, Joined
from writestall.report.timeline import Key, Timeline, labelled

FIRST: Key = "what the application waited for"
# Calls that are drawn with their chains; the text counts the others.
MOST_CALLS = 4
Span = tuple[Window, str]


@dataclass(slots=True)
class _Scene:
    """What to draw: lanes with their spans, arrows between them, and chains.

    arrows  when, from which lane, to which, its title, and whether it is inferred
    """

    window: Window
    lanes: dict[Key, Names] = field(default_factory=dict)
    spans: list[tuple[Key, Span]] = field(default_factory=list)
    arrows: list[tuple[int, Key, Key, str, bool]] = field(default_factory=list)
    chains: Sequence[Chain] = ()

    def add(self, key: Key, names: Names, spans: Iterable[Span]) -> None:
        """Add a lane with what it shows."""
        self.lanes[key] = names
        self.spans += [(key, span) for span in spans]


def picture(answer: Answer, row: Joined | Stop | Delay) -> Timeline:
    """Draw what one row of an application's record waited for."""
    paths = row.paths if isinstance(row, Joined) else ()
    if paths:
        windows = [window_of(path.write) for path in paths]
        return draw(answer, paths, (windows[0][0], windows[-1][1]))
    scene = _scene(answer, row)
    calls = (window_of(chain.write) for chain in scene.chains)
    starts, ends = zip(scene.window, *calls, strict=True)
    drawn = draw(answer, scene.chains, (min(starts), max(ends)), scene.lanes)
    for key, (window, kind) in scene.spans:
        ns = window[1] - window[0]
        if ns >= drawn.least_ns:
            label = labelled(kind, ns)
            drawn.add_bar(key, window, kind, label, label)
    for at_ns, key, below, title, guessed in scene.arrows:
        if below in drawn.lanes:
            drawn.add_arrow(at_ns, key, below, title, guessed=guessed)
    return drawn


def _scene(answer: Answer, row: Joined | Stop | Delay) -> _Scene:
    if isinstance(row, Joined):
        return _of_complaint(answer, row)
    return _of_pause(row) if isinstance(row, Stop) else _of_request(row)


def _of_complaint(answer: Answer, row: Joined) -> _Scene:
    """Its own calls, and those of others that it may have waited for."""
    window = _place(row)
    sides = [row.calls(name) for name in (OWN, OTHERS, MEANWHILE)]
    covers = [Cover(window_of(write) for _, write in side) for side in sides]
    kinds = OWN, OTHERS, MEANWHILE, UNKNOWN
    scene = _Scene(window)
    complaint = row.complaint
    thread = f", thread {complaint.tid}" if complaint.tid is not None else ""
    scene.add(
        FIRST,
        (complaint.program, f"{complaint.what}{thread}"),
        [(piece, kinds[at]) for piece, at in layered(window, covers)],
    )
    first = [call for side in sides for call in side][:MOST_CALLS]
    calls = sorted(first, key=lambda row: row[1].t_ns)
    scene.chains = answer.chains.of(calls)
    for call, chain in zip(calls, scene.chains, strict=True):
        how = next(
            kind for kind, side in zip(kinds, sides, strict=False) if call in side
        )
        _lead(scene, FIRST, chain, how, complaint.guessed or how == MEANWHILE)
    return scene


def _place(row: Joined) -> Window:
    """Where a complaint is in time: as its call shows, where its log's clock is off."""
    complaint = row.complaint
    start_ns = complaint.t_ns
    if row.main:
        slack_ns = complaint.slack_ns
        least_ns, most_ns = start_ns - slack_ns, start_ns + slack_ns
        start_ns = min(max(row.main[1].t_ns, least_ns), most_ns)
    return start_ns, start_ns + complaint.dur_ns


def _of_pause(stop: Stop) -> _Scene:
    """All threads stop, one writes a line, all are released."""
    pause = stop.pause
    scene = _Scene(window_of(pause))
    threads = f"{pause.threads} threads stopped by thread {pause.tid}"
    parts = (
        ("reach", pause.reach_ns),
        (OWN, pause.log_ns),
        ("release", pause.release_ns),
    )
    scene.add(FIRST, ("pause", threads), _in_turn(pause.t_ns, parts))
    if stop.chain:
        scene.chains = [stop.chain]
        _lead(scene, FIRST, stop.chain, OWN, False)
    return scene


def _of_request(delay: Delay) -> _Scene:
    """A request, the one that kept its thread, the one that held its lock, a call."""
    request = delay.request
    scene = _Scene(window_of(request))
    scene.add(FIRST, _request(request), _parts(request))
    last: Key = FIRST
    lock_ns = request.t_ns + request.queue_ns
    waits = (
        (QUEUE, delay.ahead, request.t_ns, True),
        (LOCK, delay.holder, lock_ns, False),
    )
    for what, other, at_ns, guessed in waits:
        if other:
            key: Key = f"{what}: {other.seq}"
            scene.add(key, _request(other), _parts(other))
            title = f"waits for request {other.seq} ({what})"
            scene.arrows.append((at_ns, FIRST, key, title, guessed))
            last = key if delay.longest == what else last
    if delay.chain:
        scene.chains = [delay.chain]
        _lead(scene, last, delay.chain, OWN, False)
    return scene


def _request(request: Request) -> Names:
    name = f"{request.seq} to partition {request.partition}, thread {request.tid}"
    return "request", name


def _parts(request: Request) -> Iterator[Span]:
    parts = (
        (QUEUE, request.queue_ns),
        (LOCK, request.lock_ns),
        (OWN, request.write_ns),
    )
    return _in_turn(request.t_ns, parts)


def _in_turn(start_ns: int, parts: Iterable[tuple[str, int]]) -> Iterator[Span]:
    """Parts one after the other."""
    for kind, ns in parts:
        if ns:
            yield (start_ns, start_ns + ns), kind
        start_ns += ns


def _lead(scene: _Scene, key: Key, chain: Chain, how: str, guessed: bool) -> None:
    """An arrow from a lane to the call behind it."""
    write = chain.write
    title = f"{how}: {write.name} of {chain.task.thread}"
    below: Key = CALLS, chain.task.tid
    scene.arrows.append((write.t_ns, key, below, title, guessed))
