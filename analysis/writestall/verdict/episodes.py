# SPDX-License-Identifier: GPL-2.0-only
"""episodes: say how much of a recorded disk came back in its replay (docs/replay.md).

An episode is a time in which bios of EPISODE_NS or longer were in flight, with gaps of
less than GAP_NS; its height is the longest of them. It came back if the longest bio
that the replay submitted in its time is as high, within HEIGHT_SHARE. An episode of
the replay in no recorded one's time counts as one that did not come back. Times are ns
since the recording began, and since the injector was armed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from writestall.chain.answers import Answer
from writestall.events.run_directory import tables
from writestall_base import files
from writestall_base.errors import UserError

SERIES = "disk-series.json"
MOST_BYTES = 64 << 20
EPISODE_NS = 50_000_000
GAP_NS = 200_000_000
SLACK_NS = 100_000_000
HEIGHT_SHARE = 0.25

# What a file of another form raises.
DAMAGED = (LookupError, TypeError, ValueError, AttributeError, OverflowError)
Found = TypeVar("Found")
# Submission and latency.
Bio = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Episode:
    """From the first submission to the last completion, and the longest bio."""

    start_ns: int
    end_ns: int
    height_ns: int


@dataclass(frozen=True, slots=True)
class Fidelity:
    """How many episodes came back; `missed` are the others, `silent` of them those in
    which the replay has no slow bio at all; `added` are of the replay alone. `partial`
    are not counted: calls had begun before the recording that are part of them."""

    recorded: int
    missed: tuple[Episode, ...]
    silent: int
    added: tuple[Episode, ...]
    partial: tuple[Episode, ...] = ()

    @property
    def share(self) -> float:
        """Share of the episodes of both that came back, 0 to 1."""
        every = self.recorded + len(self.added)
        return (self.recorded - len(self.missed)) / every if every else 1.0


def episodes(bios: Iterable[Bio]) -> list[Episode]:
    """The episodes of a disk, by time."""
    found: list[Episode] = []
    for at_ns, late_ns in sorted(bios):
        if late_ns < EPISODE_NS:
            continue
        end_ns = at_ns + late_ns
        if found and at_ns < found[-1].end_ns + GAP_NS:
            last = found[-1]
            end_ns, height_ns = max(end_ns, last.end_ns), max(late_ns, last.height_ns)
            found[-1] = Episode(last.start_ns, end_ns, height_ns)
        else:
            found.append(Episode(at_ns, end_ns, late_ns))
    return found


def fidelity(
    recorded: Sequence[Episode],
    replayed: Sequence[Bio],
    partial: Sequence[Episode] = (),
) -> Fidelity:
    """Compare the episodes with all bios of the replay that are known by themselves."""
    missed, silent = [], 0
    for one in recorded:
        low, high = one.start_ns - SLACK_NS, one.end_ns + SLACK_NS
        within = [late_ns for at_ns, late_ns in replayed if low <= at_ns <= high]
        off_ns = abs(max(within, default=0) - one.height_ns)
        if off_ns > HEIGHT_SHARE * one.height_ns:
            missed.append(one)
            silent += not within
    added = [
        one
        for one in episodes(replayed)
        if not any(_meet(one, of_recording) for of_recording in (*partial, *recorded))
    ]
    found = tuple(missed), silent, tuple(added), tuple(partial)
    return Fidelity(len(recorded), *found)


def _meet(replayed: Episode, recorded: Episode) -> bool:
    """Whether one of the replay is in the time of a recorded one."""
    return (
        replayed.start_ns <= recorded.end_ns + SLACK_NS
        and recorded.start_ns - SLACK_NS <= replayed.end_ns
    )


def is_replay(answer: Answer) -> bool:
    """Whether the run replayed a recorded disk."""
    return answer.run.get("scenario", "replayed") is not None


def of_replay(answer: Answer, known_ns: int = 0) -> Fidelity:
    """The fidelity of a run to the series that is kept with it. Before `known_ns`,
    calls were under way whose beginning the recording has not. Raises UserError."""
    armed_ns, end_ns = armed(answer)
    bios_of_disk = episodes(recorded(answer, _slow))
    whole = [one for one in bios_of_disk if one.end_ns <= end_ns]
    partial = [one for one in whole if one.start_ns < known_ns]
    wanted = [one for one in whole if one.start_ns >= known_ns]
    dev = device(answer)
    ios = (io for _, io in answer.stream.ios if io.dev == dev)
    bios = [(io.t_ns - armed_ns, io.dur_ns) for io in ios]
    return fidelity(wanted, bios, partial)


def lines(found: Fidelity, least: float) -> list[str]:
    """The figure, then what it lacks where it is below the least share."""
    came = found.recorded - len(found.missed)
    head = (
        f"{came} of {found.recorded} recorded episodes came back ({found.share:.1%}, "
        f"at least {least:.0%} wanted): bios of {EPISODE_NS // 10**6} ms or longer, at "
        f"their time within {SLACK_NS // 10**6} ms, the longest within "
        f"{HEIGHT_SHARE:.0%}"
    )
    text = [f"{'as expected' if found.share >= least else 'FAILED'}: {head}"]
    if found.silent:
        text.append(f"  in {found.silent} of the others the replay has no slow bio")
    rows = [("not counted, begun with the recording", one) for one in found.partial]
    rows += [("missed", one) for one in found.missed[:10]]
    rows += [("of the replay alone", one) for one in found.added[:10]]
    for what, one in rows:
        text.append(
            f"  {what}: {one.start_ns / 1e9:.1f} to {one.end_ns / 1e9:.1f} s, up to "
            f"{one.height_ns / 1e6:.0f} ms"
        )
    return text


def device(answer: Answer) -> Any:
    """The number of the disk that was delayed."""
    return answer.run.get("backing_device", "dev") or answer.run.get("device", "dev")


def armed(answer: Answer) -> tuple[int, int]:
    """When the injector was armed, and the end of the workload since then."""
    steps = {row.get("name"): row for row in tables(answer.run.get("steps"))}
    arm, end_ns = steps.get("arm", {}), answer.run.get("window", "end_ns")
    start_ns, dur_ns = arm.get("start_ns"), arm.get("dur_ns")
    match start_ns, dur_ns, end_ns:
        case int(), int(), int():
            return start_ns + dur_ns, end_ns - start_ns - dur_ns
    raise UserError(f"{answer.run.path}: the injector was not armed in this run")


def recorded(answer: Answer, read: Callable[[Any], Found]) -> Found:
    """What `read` finds in the kinds of bios of the disk that was replayed. Raises
    UserError for a damaged file."""
    path = answer.run.path / SERIES
    try:
        document: Any = msgspec.json.decode(files.content(path, MOST_BYTES))
        label = answer.run.get("scenario", "replayed")
        disk = next(d for d in document["disks"] if label in (d["name"], d["dev"]))
        return read(disk["kinds"])
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except (msgspec.MsgspecError, StopIteration, *DAMAGED):
        raise UserError(f"{path}: not the series that was replayed") from None


def _slow(kinds: Any) -> list[Bio]:
    """Those that are known by themselves."""
    return [(int(t), int(ns)) for kind in kinds for t, ns, *_ in kind["slow"]]
