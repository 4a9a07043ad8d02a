# SPDX-License-Identifier: GPL-2.0-only
"""contract: define the typed records of the event contract (docs/events.md).

docs/render-events.py writes their fields from docs/events.schema.json.

Field names, units and meaning are those of docs/events.md: `_ns` is nanoseconds,
`t_ns` CLOCK_MONOTONIC at the start of the thing, stacks innermost frame first. What a
tracer could not know is None; an unreadable stack is empty.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

from writestall.events.calls import GROUPS, NO_SYSTEM_CALLS

# CLOCK_MONOTONIC and durations in ns: not negative, within a signed 64-bit integer.
Ns = Annotated[int, Meta(ge=0, le=2**62)]
Count = Annotated[int, Meta(ge=0)]
Address = Annotated[str, Meta(pattern="^0x[0-9a-f]{1,16}$")]
Stack = tuple[str, ...]


class Begin(Struct, tag_field="ev", tag="begin", frozen=True, gc=False):
    """Tracer start: printed once every probe is armed."""

    t_ns: Ns
    engine: str
    engine_version: str | None = None
    script: str | None = None
    kernel: str | None = None
    floor_ns: Ns = 1_000_000
    stall_ns: Ns = 0


class Cgroup(Struct, tag_field="ev", tag="cgroup", frozen=True, gc=False):
    """The path of a cgroup that other events name by its id, and its io.max, where
    that limits something."""

    t_ns: Ns
    id: int
    version: int
    path: str
    io_max: str | None = None


class Block(Struct, tag_field="ev", tag="block", frozen=True, gc=False):
    """One uninterruptible sleep of one task, and who ended it."""

    t_ns: Ns
    dur_ns: Ns
    tid: int
    runq_ns: Ns | None = 0
    state: str = "D"
    pid: int | None = None
    comm: str | None = None
    cgroup: int | None = None
    cgroup_v1: int | None = None
    kstack: Stack = ()
    ustack: Stack = ()
    lock: str | None = None
    lock_at: Address | None = None
    lock_in: str | None = None
    holder: str | None = None
    holder_tid: int | None = None
    holder_comm: str | None = None
    waker_tid: int | None = None
    waker_comm: str | None = None
    waker_ctx: str | None = None
    waker_cgroup: int | None = None
    waker_cgroup_v1: int | None = None
    waker_kstack: Stack = ()


class Write(Struct, tag_field="ev", tag="write", frozen=True, gc=False):
    """One call of a file system or request that stalled, from first sleep to last."""

    t_ns: Ns
    dur_ns: Ns
    tid: int
    pid: int | None = None
    comm: str | None = None
    call: str | None = None
    cgroup: int | None = None
    cgroup_v1: int | None = None
    fd: int | None = None
    dev: str | None = None
    ino: int | None = None
    path: str | None = None
    offset: int | None = None
    bytes: int | None = None
    ret: int | None = None
    sleeps: int | None = None
    slept_ns: Ns | None = None
    kstack: Stack = ()
    ustack: Stack = ()

    @property
    def name(self) -> str:
        """What was called: `fsync(2)`, or a request, `io_uring_write`."""
        call = self.call or "write"
        return call if call in NO_SYSTEM_CALLS else f"{call}(2)"

    @property
    def writes(self) -> bool:
        """Whether it writes data."""
        return (self.call or "write") in GROUPS["writes"]


class Io(Struct, tag_field="ev", tag="io", frozen=True, gc=False):
    """One slow bio, from its submission to its completion."""

    t_ns: Ns
    dur_ns: Ns
    tid: int
    pid: int | None = None
    comm: str | None = None
    dev: str | None = None
    op: str | None = None
    flags: tuple[str, ...] = ()
    sector: int | None = None
    bytes: int | None = None
    depth: int | None = None
    gap: int | None = None
    cgroup: int | None = None
    cgroup_v1: int | None = None
    throttled_ns: Ns | None = None
    kstack: Stack = ()

    @property
    def end_ns(self) -> int:
        return self.t_ns + self.dur_ns


class Ios(Struct, tag_field="ev", tag="ios", frozen=True, gc=False):
    """The short bios of one kind that ended within a window, by their latency."""

    t_ns: Ns
    dur_ns: Ns
    count: Count
    dev: str | None = None
    op: str | None = None
    flags: tuple[str, ...] = ()
    bytes: int | None = None
    latencies: tuple[str, ...] = ()
    depths: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()


class Calls(Struct, tag_field="ev", tag="calls", frozen=True, gc=False):
    """Many calls that a replay makes again, packed: events/kept_calls.py."""

    t_ns: Ns
    count: Count
    rows: str
    lost: int | None = None
    left_out: int | None = None
    wakes: int = 0


class File(Struct, tag_field="ev", tag="file", frozen=True, gc=False):
    """A file of such calls, before the first of them."""

    t_ns: Ns
    number: int
    dev: str | None = None
    ino: int | None = None
    bytes: int | None = None
    allocated: int | None = None
    kind: str | None = None


class Handles(Struct, tag_field="ev", tag="handles", frozen=True, gc=False):
    """What the tasks of one cgroup did in a transaction of jbd2."""

    t_ns: Ns
    dev: str | None = None
    transaction: int | None = None
    cgroup: int | None = None
    cgroup_v1: int | None = None
    handles: int = 0
    blocks: int = 0


class Commit(Struct, tag_field="ev", tag="commit", frozen=True, gc=False):
    """One commit of jbd2; the four phases add up to its duration."""

    t_ns: Ns
    dur_ns: Ns
    tid: int | None = None
    pid: int | None = None
    comm: str | None = None
    dev: str | None = None
    transaction: int | None = None
    locking_ns: Ns = 0
    flushing_ns: Ns = 0
    logging_ns: Ns = 0
    finishing_ns: Ns = 0
    handles: int | None = None
    blocks: int | None = None
    blocks_logged: int | None = None


class Lost(Struct, tag_field="ev", tag="lost", frozen=True, gc=False):
    """A lossy moment: how many of what (`events`, `stacks`, ...), and why."""

    count: Count
    t_ns: Ns | None = None
    what: str | None = None
    why: str | None = None


class End(Struct, tag_field="ev", tag="end", frozen=True, gc=False):
    """Orderly stop of a tracer."""

    t_ns: Ns | None = None
    events: int | None = None
    lost: int | None = None


Event = (
    Begin
    | Cgroup
    | Block
    | Write
    | Io
    | Ios
    | Calls
    | File
    | Handles
    | Commit
    | Lost
    | End
)


class ClientWrite(Struct, tag_field="ev", tag="client_write", frozen=True, gc=False):
    """One slow write as the client itself measured it (`writer.jsonl`)."""

    t_ns: Ns
    dur_ns: Ns
    tid: int
    seq: int | None = None
    intended_ns: Ns | None = None
    path: str | None = None
    offset: int | None = None
    bytes: int | None = None
    ret: int | None = None


class Pause(Struct, tag_field="ev", tag="pause", frozen=True, gc=False):
    """One stop of all of an application's threads; the three parts add up to it."""

    t_ns: Ns
    dur_ns: Ns
    tid: int
    seq: int | None = None
    reach_ns: Ns = 0
    log_ns: Ns = 0
    release_ns: Ns = 0
    threads: int = 0
    shortest_ns: Ns = 0


class Request(Struct, tag_field="ev", tag="request", frozen=True, gc=False):
    """One request, from when it was wanted; the three parts add up to it."""

    t_ns: Ns
    dur_ns: Ns
    tid: int
    partition: int
    queue_ns: Ns
    lock_ns: Ns
    write_ns: Ns
    seq: int | None = None
    path: str | None = None
    bytes: int | None = None
    ret: int | None = None
    cgroup: int | None = None
