# SPDX-License-Identifier: GPL-2.0-only
"""kafka: read a Kafka broker's request log: requests with their stages.

`kafka.request.logger` at DEBUG prints a request once its response was sent, with the
time that each stage took (core/src/main/scala/kafka/network/RequestChannel.scala,
updateRequestMetrics()). It does not say which thread handled it: that is printed by
`kafka.server.KafkaRequestHandler` at TRACE, which takes one request of a connection
at a time (KafkaRequestHandler.scala, run()). A line is `TIME [THREAD] LEVEL LOGGER -
TEXT`, as slf4j-simple prints it; the JVM's threads by name are in jvm-threads.txt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from writestall.events.application_clock import Clock, Complaint, Stage, parsed_lines
from writestall.events.lines import Problem
from writestall.events.programs import jvm
from writestall_base.units import MS_NS

# The line is printed after the response was sent, and JSON is made of the request
# meanwhile; its time has a grain of 1 ms.
SLACK_NS = 10 * MS_NS
LINE = r"(?P<at>\S+) \[(?P<thread>[^]]*)\] [A-Z]+ "
TAKEN = re.compile(
    LINE + r"kafka\.server\.KafkaRequestHandler - .*\bhandling request .*"
    r"\bconnectionId=(?P<connection>[^,]+),"
)
DONE = re.compile(
    LINE + r"kafka\.request\.logger - Completed request:(?P<json>\{.*\})\s*$"
)

# A segment that is full or old: the request thread that finds it so makes the next one
# (storage/src/main/java/org/apache/kafka/storage/internals/log/LocalLog.java, roll()).
ROLLED = re.compile(
    LINE + r"\S+\.LocalLog - \[LocalLog partition=(?P<partition>[^,]+),.*"
    r"Rolled new log segment at offset \d+ in (?P<took>\d+) ms"
)


class Header(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What kind of request it is."""

    request_api_key_name: str


class Line(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """What a request took; in ms, with decimal places."""

    request_header: Header
    connection: str
    total_time_ms: float
    request_queue_time_ms: float
    local_time_ms: float
    remote_time_ms: float

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Its stages: in the queue, on a request thread, waiting for others, and on
        the way out: the response in its queue, and on the network."""
        parts = (
            Stage("queue", _ns(self.request_queue_time_ms), worked=False, queued=True),
            Stage("local", _ns(self.local_time_ms)),
            Stage("remote", _ns(self.remote_time_ms), worked=False),
        )
        rest_ns = self.dur_ns - sum(stage.dur_ns for stage in parts)
        return (*parts, Stage("send", max(rest_ns, 0), worked=False))

    @property
    def kind(self) -> str:
        return self.request_header.request_api_key_name

    @property
    def dur_ns(self) -> int:
        return _ns(self.total_time_ms)


def _ns(ms: float) -> int:
    return round(ms * MS_NS)


# A consumer's fetch waits for records, and for how long is its own wish.
WAITS_BY_INTENT = ("FETCH",)


def read(path: Path, clock: Clock) -> Iterator[Complaint | Problem]:
    """The requests, fast ones too; each ended when its line was printed."""
    tids = {name: tid for tid, name in jvm.names(path.parent).items()}
    handlers: dict[str, str] = {}
    decode = msgspec.json.Decoder(Line).decode

    def parse(text: str) -> Complaint | None:
        if taken := TAKEN.match(text):
            handlers[taken["connection"]] = taken["thread"]
            return None
        done, rolled = DONE.match(text), ROLLED.match(text)
        if not (found := done or rolled):
            return None
        line = decode(done["json"]) if done else None
        end_ns = clock.monotonic_ns(datetime.fromisoformat(found["at"]))
        if line is None:
            return _roll(found, end_ns, tids.get(found["thread"]))
        if line.kind in WAITS_BY_INTENT:
            return None
        return _request(line, end_ns, tids.get(handlers.get(line.connection, "")))

    return parsed_lines(path, parse)


def _roll(found: re.Match[str], end_ns: int, tid: int | None) -> Complaint:
    """A roll is a part of the request that found the segment old."""
    dur_ns = int(found["took"]) * MS_NS
    what = f"segment roll of {found['partition']}"
    return Complaint(
        *("kafka roll", end_ns - dur_ns, dur_ns, what, tid),
        slack_ns=SLACK_NS,
        noun="segment roll",
    )


def _request(line: Line, end_ns: int, tid: int | None) -> Complaint:
    return Complaint(
        "kafka",
        end_ns - line.dur_ns,
        line.dur_ns,
        line.kind,
        tid,
        slack_ns=SLACK_NS,
        noun=f"{line.kind.lower()} request",
        stages=line.stages,
    )
