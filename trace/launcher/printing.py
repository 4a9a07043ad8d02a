# SPDX-License-Identifier: GPL-2.0-only
"""printing: run a program that prints events itself, and copy them to their `end`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence

from launcher.errors import TraceError
from launcher.lines import Lines
from launcher.plain_text import Sink
from launcher.user_symbols import UserSymbols
from writestall_base.releases import version

END = b'{"ev":"end"'
Process = subprocess.Popen[bytes]

# What a script does not see before a kernel version: stap/tapset/requests.stp,
# bpf/core.
UNSEEN = {"stalled_writes": ((6, 0), "writes of io_uring's workers, blocks apart")}


def unseen(name: str, release: str) -> str:
    """Return what the script does not see on a kernel of that release, a clause."""
    since, what = UNSEEN.get(name, ((0, 0), ""))
    if version(release) >= since:
        return ""
    return " (not seen before Linux {}.{}: {})".format(*since, what)


def relay(lines: Lines, sink: Sink) -> bytes:
    """Copy complete lines, those that came together flushed at once; return the last
    one.

    Addresses of user stacks get their names.
    """
    users = UserSymbols()
    last = b""
    open_still = True
    while open_still:
        open_still = lines.wait()
        for last in lines.take():
            sink.write(users.named(last) + b"\n")
        sink.flush()
    return last


def run(
    engine: str,
    name: str,
    command: Sequence[str],
    sink: Sink,
    started: Callable[[Process], None] = lambda process: None,
    give_up: Callable[[Process], None] = subprocess.Popen.kill,
) -> bytes:
    """Run a script's program until it has printed all; return its last line.

    started  called before the first line is read
    give_up  ends it where nobody reads its lines any more: a full disk, for example

    It gets its own process group, so that Ctrl-C reaches it once, from here: a second
    signal would cut an orderly stop short.
    """
    with subprocess.Popen(command, stdout=subprocess.PIPE, process_group=0) as process:
        stopped = False

        def stop(_signum: int, _frame: object) -> None:
            nonlocal stopped
            if not stopped:
                stopped = True
                process.send_signal(signal.SIGINT)

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
        release = os.uname().release
        print(
            f"trace: {engine} runs {name} on {release};"
            f" stop with Ctrl-C or: kill {os.getpid()}{unseen(name, release)}",
            file=sys.stderr,
            flush=True,
        )
        assert process.stdout
        try:
            started(process)
            return relay(Lines(process.stdout), sink)
        except BaseException:
            give_up(process)
            raise


def check_ended(name: str, last: bytes) -> None:
    """Refuse a stream whose last line is not its `end`. Raises TraceError."""
    if not last:
        raise TraceError(f"{name} never armed: see the error above")
    if not last.startswith(END):
        raise TraceError(f"{name} died: its output is cut off, without `end`")
