# SPDX-License-Identifier: GPL-2.0-only
"""This test will parse traces and replay them as Perfetto's trace processor does.

Its binary cannot be had without a network; these are its rules, from Perfetto's
documentation of TrackEvent: packets by time, an end closes the innermost slice of its
track, and a flow leads through the slices that name it, in that order.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

import build
from golden_runs import NAMES, unpacked
from writestall.cli.main import main


@dataclass
class Slice:
    """A slice or an instant, with the slice around it."""

    track: str
    name: str
    start_ns: int
    args: dict[str, Any]
    parent: Slice | None
    end_ns: int = -1


@dataclass
class Played:
    """Everything that a reader displays."""

    slices: list[Slice] = field(default_factory=list)
    flows: dict[int, list[Slice]] = field(default_factory=dict)
    tracks: dict[int, Any] = field(default_factory=dict)
    clocks: dict[int, int] = field(default_factory=dict)

    def of(self, track: str) -> list[Slice]:
        """The slices of a track."""
        return [row for row in self.slices if row.track == track]

    def named(self, start: str) -> list[Slice]:
        """Slices whose name begins so."""
        return [row for row in self.slices if row.name.startswith(start)]


def value(annotation: Any) -> Any:
    """A debug annotation's value."""
    kind = annotation.WhichOneof("value")
    if kind is None:
        return [value(item) for item in annotation.array_values]
    return getattr(annotation, kind)


def play(data: bytes) -> Played:
    """Parse a trace into slices and flows; fail if slices do not nest."""
    trace = proto.Trace.FromString(data)
    played = Played()
    open_slices: dict[int, list[Slice]] = {}
    last_ns = 0
    first = trace.packet[0]
    assert first.sequence_flags & proto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    assert first.trace_packet_defaults.timestamp_clock_id == 3
    assert first.clock_snapshot.primary_trace_clock == 3
    clocks = first.clock_snapshot.clocks
    played.clocks = {clock.clock_id: clock.timestamp for clock in clocks}
    for packet in trace.packet[1:]:
        assert packet.trusted_packet_sequence_id == first.trusted_packet_sequence_id
        if packet.HasField("track_descriptor"):
            played.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            continue
        event = packet.track_event
        assert packet.timestamp >= last_ns
        last_ns = packet.timestamp
        stack = open_slices.setdefault(event.track_uuid, [])
        if event.type == proto.TrackEvent.TYPE_SLICE_END:
            stack.pop().end_ns = packet.timestamp
            continue
        args = {note.name: value(note) for note in event.debug_annotations}
        track = played.tracks[event.track_uuid].name
        parent = stack[-1] if stack else None
        row = Slice(track, event.name, packet.timestamp, args, parent)
        played.slices.append(row)
        if event.type == proto.TrackEvent.TYPE_SLICE_BEGIN:
            stack.append(row)
        else:
            row.end_ns = packet.timestamp
        for flow in event.flow_ids:
            played.flows.setdefault(flow, []).append(row)
    assert not any(open_slices.values())
    return played


def exported(run: Path, target: Path) -> Played:
    """A run's trace, played."""
    assert main(["export", str(run), "--to", "perfetto", "-o", str(target)]) == 0
    return play(target.read_bytes())


def test_the_cascade_leads_down_to_the_disk(tmp_path: Path) -> None:
    """Writer, flusher, jbd2, disk from top to bottom; arrows from each to the next."""
    run = build.run_dir(tmp_path / "run", build.cascade())
    played = exported(run, tmp_path / "out")
    tracks = sorted(played.tracks.values(), key=lambda row: row.sibling_order_rank)
    names = [row.name for row in tracks if row.parent_uuid]
    writer, flusher, jbd2 = "latwriter/300", "kworker/u8:3/77", "jbd2/vdb-8/253"
    assert [name for name in names if name != "notes"] == [writer, flusher, jbd2, "vdb"]
    arrows = [(a.track, a.name, b.track) for a, b in played.flows.values()]
    assert sorted(arrows) == sorted(
        [
            (writer, "journal_buffer", jbd2),
            (writer, "page_lock", flusher),
            (flusher, "journal_buffer", jbd2),
            *[(jbd2, "device_io", "vdb")] * 3,
        ]
    )
    (write,) = played.named("write(2)")
    assert (write.end_ns - write.start_ns) == 1000 * build.MS
    inside = [row.name for row in played.of(writer) if row.parent is write]
    assert inside == ["journal_buffer", "runqueue", "page_lock"]
    assert write.args["root"] == "vdb slow for jbd2"


@pytest.mark.parametrize("name", NAMES)
def test_recorded_runs_keep_their_numbers(name: str, tmp_path: Path) -> None:
    """Slices are the writes and the waits they rest on, flows the links."""
    run = unpacked(name, tmp_path)
    assert main(["explain", str(run)]) == 0
    chains = json.loads((run / "chains.json").read_text())["chains"]
    played = exported(run, tmp_path / "out")
    writes = {row.args["write_id"]: row for row in played.named("write(2)")}
    assert sorted(writes) == sorted(chain["event"] for chain in chains)
    for chain in chains:
        row = writes[chain["event"]]
        assert row.start_ns == chain["t_ns"]
        assert row.end_ns - row.start_ns == chain["dur_ns"]
        assert row.args["explained_ns"] == chain["explained_ns"]
        assert row.args["root"] == chain["root"]
    waits = [row for row in played.slices if "writes" in row.args]
    ids = [row.args["block_id"] for row in waits]
    assert len(ids) == len(set(ids)), "a wait that writes share is drawn once"
    own = {chain["event"]: chain["task"] for chain in chains}
    for chain in chains:
        track = f"{own[chain['event']]['comm']}/{own[chain['event']]['tid']}"
        mine = [
            w for w in waits if w.track == track and chain["event"] in w.args["writes"]
        ]
        asleep = sum(
            part["dur_ns"] for part in chain["parts"] if part["kind"] == "wait"
        )
        assert sum(row.end_ns - row.start_ns for row in mine) == asleep
        assert all(row.parent is writes[chain["event"]] for row in mine)
    held = [ends for ends in played.flows.values() if ends[1].track != "vdb"]
    assert held and len(played.flows) > len(held)
    for source, target in played.flows.values():
        assert source.end_ns == target.start_ns == target.end_ns
        assert source in waits and source.track != target.track
    # Every holder in the answer has the end of an arrow on its track.
    holders = {tid for chain in chains for tid in holder_tids(chain["parts"])}
    assert holders == {int(ends[1].track.rpartition("/")[2]) for ends in held}
    clock = json.loads((run / "manifest.json").read_text())["clock"]
    shift_ns = clock["realtime_ns"] - clock["monotonic_ns"]
    assert played.clocks[1] - played.clocks[3] == shift_ns


def holder_tids(parts: list[dict[str, Any]]) -> set[int]:
    """Who held anything, at any depth."""
    found = set()
    for part in parts:
        if part["holder"]:
            found.add(part["holder"]["tid"])
        found |= holder_tids(part.get("parts", []))
    return found


def test_sleeps_that_overlap_still_nest(tmp_path: Path) -> None:
    """A tracer's mistake: the inner slice is cut at the end of the outer one."""
    events = build.Events()
    events.block(300, 0, 400, "journal_buffer", (253, "jbd2/vdb-8"), "jbd2_wakes")
    events.block(300, 300, 300, "page_lock", (77, "kworker/u8:3"), "unlocks")
    events.write(300, 0, 500, 500, sleeps=2)
    run = build.run_dir(tmp_path / "run", events.end())
    played = exported(run, tmp_path / "out")
    assert max(row.end_ns for row in played.of("latwriter/300")) == (
        build.START_NS + 500 * build.MS
    )


def test_losses_and_hostile_names_are_reported_harmlessly(tmp_path: Path) -> None:
    """Lost events are in the trace; escapes in names are quoted."""
    events = build.Events()
    events.block(300, 0, 500, "journal_buffer", (253, "jbd2/vdb-8"), "jbd2_wakes")
    events.write(300, 0, 500, 500, path="\x1b[31mlab/x\n")
    events.lost(7)
    run = build.run_dir(tmp_path / "run", events.end())
    played = exported(run, tmp_path / "out")
    assert any("LOST: 7 events" in row.name for row in played.of("notes"))
    (write,) = played.named("write(2)")
    assert write.name == r"write(2) \x1b[31mlab/x\n"
