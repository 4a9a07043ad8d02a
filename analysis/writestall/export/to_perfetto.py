# SPDX-License-Identifier: GPL-2.0-only
"""to_perfetto: write a trace for Perfetto (protobuf TracePackets).

One track per task: its stalled writes, and in them its waits. An arrow leads from a
wait to the moment of release on the holder's track, or from a wait for a device to the
disk's track. A wait that several writes share is drawn once. Fields: Perfetto's
protos/perfetto/trace/track_event.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from writestall.chain.answers import Answer
from writestall.chain.parts import Chain, Part, Task
from writestall.classify.frames import parse_stack
from writestall.common.windows import window_of
from writestall.events.contract import Block
from writestall.export.tables import fields, main_class, run_name, waits
from writestall_base import wait_classes as c
from writestall_base.units import printable

_SEQUENCE = 1
# protos/perfetto/common/builtin_clock.proto
_REALTIME, _MONOTONIC = 1, 3
_BEGIN = proto.TrackEvent.TYPE_SLICE_BEGIN
_END = proto.TrackEvent.TYPE_SLICE_END
_INSTANT = proto.TrackEvent.TYPE_INSTANT
# Tracks from top to bottom, in the order of a chain.
_RANKS = {c.WRITER: 1, c.WRITEBACK: 2, c.JOURNAL: 3, c.ROLE_OTHER: 4}
_DISK_RANK, _NOTES_RANK = 5, 6

Args = dict[str, Any]


@dataclass(slots=True)
class _Slice:
    """A range of time on a track; a moment if its length is 0."""

    start_ns: int
    end_ns: int
    name: str
    category: str
    args: Args
    flow: int | None = None


@dataclass(slots=True)
class _Track:
    """One line of the trace; `rank` is its place from the top."""

    number: int
    name: str
    rank: int
    slices: list[_Slice] = field(default_factory=list)


@dataclass(slots=True)
class _Wait:
    """One sleep that chains refer to, with the longest part of it."""

    block: Block
    chain: Chain
    part: Part
    writes: dict[int, None]


class _Trace:
    """Collect the tracks and their slices."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.tracks: dict[object, _Track] = {}
        self.flows = 0

    def track(self, key: object, name: str, rank: int) -> _Track:
        """Return the track of a key; create it on first use."""
        # The group itself is number 1.
        fresh = _Track(len(self.tracks) + 2, name, rank)
        return self.tracks.setdefault(key, fresh)

    def task(self, task: Task) -> _Track:
        """Return the track of a task."""
        rank = _RANKS.get(task.role, _RANKS[c.ROLE_OTHER])
        return self.track(task.tid, task.thread, rank)

    def write(self, chain: Chain) -> None:
        """Add a stalled write, around its waits."""
        write = chain.write
        root = next(iter(self.answer.roots([chain])), None)
        args: Args = {"write_id": chain.id, **fields(write, "path tid bytes offset")}
        args |= {"root": str(root), "explained_ns": chain.explained_ns}
        args |= {"main_class": main_class(chain)}
        name = f"{write.name} {write.path or '?'}"
        row = _Slice(*window_of(write), name, "write", args)
        self.task(chain.task).slices.append(row)

    def wait(self, number: int, wait: _Wait) -> None:
        """Add a sleep, its time in the run queue, and the arrow to its end."""
        block, part = wait.block, wait.part
        track = self.task(part.task)
        wake_ns = block.t_ns + block.dur_ns
        stack = [frame.symbol for frame in parse_stack(block.kstack)]
        args: Args = {"block_id": number, "writes": [*wait.writes], "why": part.why}
        args |= {"link": part.link, "kernel_stack": stack}
        row = _Slice(block.t_ns, wake_ns, part.cls, "wait", args)
        track.slices.append(row)
        if block.runq_ns:
            run_ns = wake_ns + block.runq_ns
            runq = _Slice(wake_ns, run_ns, c.RUNQUEUE, "runqueue", {"block_id": number})
            track.slices.append(runq)
        self._arrow(row, wait)

    def _arrow(self, row: _Slice, wait: _Wait) -> None:
        part = wait.part
        if part.holder:
            track = self.task(part.holder)
        elif part.cls == c.DEVICE_IO or _ends_with_io(part):
            leaf = part.leaves()[0]
            disk = self.answer.root_of(wait.chain, leaf).device or "disk"
            track = self.track(disk, disk, _DISK_RANK)
        else:
            return
        name = f"lets {part.task.thread} go"
        self.flows += 1
        row.flow = self.flows
        args = {"link": part.link, "why": part.why, "class": part.cls}
        moment = _Slice(row.end_ns, row.end_ns, name, part.link, args, row.flow)
        track.slices.append(moment)

    def notes(self, start_ns: int) -> None:
        """Add notes on what limits the trace."""
        lost = self.answer.stream.lost_events
        losses = [f"LOST: {lost} events; chains have gaps"] if lost else []
        for note in (*losses, *self.answer.notes):
            track = self.track("notes", "notes", _NOTES_RANK)
            track.slices.append(_Slice(start_ns, start_ns, note, "note", {}))


def _ends_with_io(part: Part) -> bool:
    """True if an interrupt ended a wait, with no task between it and the disk."""
    leaf = part.parts[0] if len(part.parts) == 1 else None
    return leaf is not None and leaf.cls == c.DEVICE_IO and not leaf.parts


def trace(answer: Answer) -> bytes:
    """Serialize the trace; times are CLOCK_MONOTONIC in ns."""
    picture = _Trace(answer)
    for chain in answer.chains:
        picture.write(chain)
    for number, wait in _shared_waits(answer).items():
        picture.wait(number, wait)
    start_ns = min(write.t_ns for _, write in answer.writes)
    picture.notes(start_ns)
    packets = [_clocks(answer, start_ns), _group(answer)]
    packets += [_descriptor(track) for track in picture.tracks.values()]
    # The sort is stable: events at one time on one track keep their nesting order.
    rows = [row for track in picture.tracks.values() for row in _events(track)]
    packets += [packet for _, packet in sorted(rows, key=lambda row: row[0])]
    return b"".join(packets)


def _shared_waits(answer: Answer) -> dict[int, _Wait]:
    """Sleeps that chains refer to, by event id, with all their writes."""
    blocks = dict(answer.stream.blocks)
    found: dict[int, _Wait] = {}
    for chain in answer.chains:
        for part in waits(chain):
            block = blocks.get(part.evidence[0])
            # An I/O after a holder's last sleep refers to the waiter's event.
            if block is None or block.tid != part.task.tid:
                continue
            fresh = _Wait(block, chain, part, {})
            wait = found.setdefault(part.evidence[0], fresh)
            if part.dur_ns > wait.part.dur_ns:
                wait.chain, wait.part = chain, part
            wait.writes[chain.id] = None
    return found


def _events(track: _Track) -> Iterator[tuple[int, bytes]]:
    """Yield a track's packets with their times.

    Slices must nest, since Perfetto's end events have no names: a slice is cut at the
    end of the one around it.
    """
    open_ns: list[int] = []
    for row in sorted(track.slices, key=lambda row: (row.start_ns, -row.end_ns)):
        while open_ns and open_ns[-1] <= row.start_ns:
            yield _event(track, open_ns[-1], _END)
            open_ns.pop()
        if row.end_ns == row.start_ns:
            yield _event(track, row.start_ns, _INSTANT, row)
            continue
        yield _event(track, row.start_ns, _BEGIN, row)
        open_ns.append(min([row.end_ns, *open_ns[-1:]]))
    for end_ns in reversed(open_ns):
        yield _event(track, end_ns, _END)


def _event(
    track: _Track, t_ns: int, kind: int, row: _Slice | None = None
) -> tuple[int, bytes]:
    event = proto.TrackEvent(type=kind, track_uuid=track.number)
    if row is not None:
        event.name = printable(row.name)
        event.categories.append(row.category)
        event.debug_annotations.extend(
            _annotation(value, name=name)
            for name, value in row.args.items()
            if value is not None
        )
        if row.flow is not None:
            event.flow_ids.append(row.flow)
    return t_ns, _packet(timestamp=t_ns, track_event=event)


def _annotation(value: Any, **fields: str) -> Any:
    if isinstance(value, list):
        items = [_annotation(item) for item in value]
        return proto.DebugAnnotation(array_values=items, **fields)
    if isinstance(value, int) and abs(value) < 2**63:
        return proto.DebugAnnotation(int_value=value, **fields)
    return proto.DebugAnnotation(string_value=printable(str(value)), **fields)


def _packet(**fields: Any) -> bytes:
    """Serialize one packet as a trace; concatenated traces are one trace."""
    packet = proto.TracePacket(trusted_packet_sequence_id=_SEQUENCE, **fields)
    return bytes(proto.Trace(packet=[packet]).SerializeToString(deterministic=True))


def _clocks(answer: Answer, start_ns: int) -> bytes:
    """The first packet: the clock of the trace, and the wall clock."""
    clock = proto.ClockSnapshot.Clock
    clocks = [clock(clock_id=_MONOTONIC, timestamp=start_ns)]
    wall_ns = answer.run.realtime_ns(start_ns)
    if wall_ns is not None and wall_ns >= 0:
        clocks.append(clock(clock_id=_REALTIME, timestamp=wall_ns))
    snapshot = proto.ClockSnapshot(clocks=clocks, primary_trace_clock=_MONOTONIC)
    return _packet(
        clock_snapshot=snapshot,
        trace_packet_defaults=proto.TracePacketDefaults(timestamp_clock_id=_MONOTONIC),
        sequence_flags=proto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED,
    )


def _group(answer: Answer) -> bytes:
    name = printable(f"stalled writes of {run_name(answer)}")
    order = proto.TrackDescriptor.EXPLICIT
    top = proto.TrackDescriptor(uuid=1, name=name, child_ordering=order)
    return _packet(track_descriptor=top)


def _descriptor(track: _Track) -> bytes:
    return _packet(
        track_descriptor=proto.TrackDescriptor(
            uuid=track.number,
            parent_uuid=1,
            name=printable(track.name),
            sibling_order_rank=track.rank,
        )
    )
