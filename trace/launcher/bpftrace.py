# SPDX-License-Identifier: GPL-2.0-only
"""bpftrace: run a bpftrace script and print its rows as events."""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from launcher.bpftrace_process import ASKING, ENDING, KILLING, BpftraceProcess
from launcher.errors import TraceError
from launcher.options import variables
from launcher.plain_text import Sink
from launcher.rows import Rows
from launcher.symbols import KernelSymbols
from launcher.user_symbols import UserSymbols
from writestall_base import TREE

FOLDER = TREE / "bpf"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.bt"))

# What bpftrace cannot do, and the program that can.
ELSEWHERE = {
    "drilldown": "bpftrace compiles its probes in, and each round asks for others;"
    " use trace/drilldown"
}

# The functions a script probes, and where the kernel lists those that can be.
TRACEABLE = Path("/sys/kernel/tracing/available_filter_functions")
NEEDS = {"page_locks": {"wake_page_function", "finish_wait"}}

# The first that they were tried with; 0.23 has no `import`.
OLDEST = (0, 27)

# The first kernel that a script runs on, and why: sched_switch has prev_state since
# fa2c3254d7cf ("sched/tracing: Don't re-read p->state when emitting sched_switch
# event"), lock:contention_begin came with 16edd9b511a1 ("locking: Add lock contention
# tracepoints"), and bpftrace cannot choose between what is there and what is not; its
# loops are bpf_loop(), e6f2dd0f8067 ("bpf: Add bpf_loop helper").
STATE = (5, 18), "needs prev_state of sched_switch, which is there since"
LOCKS = (5, 19), "needs lock:contention_begin, which is there since"
SERVES_SINCE = {
    "slow_writes": ((5, 17), "needs bpf_loop(), which is there since"),
    "stalled_writes": LOCKS,
    "page_locks": STATE,
    "journal_commits": LOCKS,
}


def check(options: argparse.Namespace) -> None:
    """Refuse, before anything is compiled, what bpftrace cannot run here."""
    name = options.script
    if name in ELSEWHERE:
        raise TraceError(f"{name}: {ELSEWHERE[name]}")
    if options.functions or options.arguments:
        raise TraceError("--functions and --arguments belong to --engine stap")
    check_kernel(name, os.uname().release)
    check_probes(name)


def check_kernel(name: str, release: str) -> None:
    """Refuse a kernel for which a script does not compile, or misses events."""
    oldest, why = SERVES_SINCE.get(name, ((0, 0), ""))
    major, minor = re.findall(r"\d+", release)[:2]
    if (int(major), int(minor)) < oldest:
        raise TraceError(
            f"{name} {why} Linux {oldest[0]}.{oldest[1]}, and this is {release};"
            f" use --engine stap"
        )


def check_probes(name: str) -> None:
    """Refuse a kernel that allows no probe on a function the script needs."""
    missing = NEEDS.get(name, set())
    try:
        with TRACEABLE.open() as lines:
            missing = missing - {line.split()[0] for line in lines}
    except OSError:  # not mounted, or not root: the engine will tell
        return
    if missing:
        raise TraceError(
            f"{name} needs a probe on {min(missing)}, and this kernel allows none"
            f" there; use --engine stap"
        )


def version() -> str:
    """Return bpftrace's version: 0.27.0. Refuse one that cannot read the scripts."""
    try:
        shown = subprocess.run(
            ["bpftrace", "--version"], stdout=subprocess.PIPE, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise TraceError(
            "bpftrace does not run: install it (apt install bpftrace)"
        ) from error
    found = re.search(r"v((\d+)\.(\d+)[\w.]*)", shown)
    if not found:
        return shown.strip()
    if (int(found[2]), int(found[3])) < OLDEST:
        raise TraceError(
            f"bpftrace {found[1]} is too old, the scripts are written for"
            f" {'.'.join(map(str, OLDEST))}: install a newer one"
        )
    return found[1]


# bpftrace 0.27 prints a byte above 0x7f as \\uffffffXX: it escapes a signed char.
ESCAPED_BYTE = re.compile(rb"(\\\\)|\\uffffff([0-9a-f]{2})")


def parse(line: bytes) -> dict[str, Any]:
    """Parse one row; bytes that are not UTF-8 become lone surrogates."""
    whole = ESCAPED_BYTE.sub(lambda m: m[1] or bytes.fromhex(m[2].decode()), line)
    row: dict[str, Any] = json.loads(whole.decode("utf-8", "surrogateescape"))
    return row


def relay(line: bytes, sink: Sink, rows: Rows) -> None:
    """Print the events of one of bpftrace's rows, each flushed at once."""
    try:
        row = parse(line)
    except ValueError:
        print(f"trace: bpftrace printed: {line!r}", file=sys.stderr)
        return
    for event in rows.events(row):
        text = json.dumps(event, separators=(",", ":"), ensure_ascii=False)
        # one U+FFFD for each byte that is not UTF-8
        text = re.sub("[\udc80-\udcff]", "\ufffd", text)
        sink.write(text.encode() + b"\n")
        sink.flush()


def trace(options: argparse.Namespace, sink: Sink) -> None:
    """Run the script until it has printed its last row."""
    name = options.script
    users = UserSymbols()
    rows = Rows(name, version(), KernelSymbols(), time.monotonic_ns, users)
    script = FOLDER / f"{name}.bt"
    given = variables(options, script)
    command = ["bpftrace", "--no-warnings", "-B", "line", "-f", "json", str(script)]
    command += ["--", *(f"--{key}={value}" for key, value in given.items())]
    print(f"trace: bpftrace compiles {name}", file=sys.stderr, flush=True)
    stopped, status = run(name, command, rows, sink)
    if stopped and not rows.begun:
        raise TraceError(f"{name} was stopped before it was armed")
    if not rows.begun:
        raise TraceError(f"{name} never armed: the reason stands above")
    if not rows.ended:
        raise TraceError(
            f"{name} died: its output is cut off, without `end`"
            f" (bpftrace ended with status {status})"
        )


def run(name: str, command: list[str], rows: Rows, sink: Sink) -> tuple[bool, int]:
    """Run bpftrace to its end; return whether it was stopped, and its status.

    It gets its own process group, so that Ctrl-C does not reach it: SIGINT makes it
    drop the rows that it has not read yet. The last row, which SIGUSR1 asks for, stands
    behind those in the buffer; if it finds no room there, it is asked for again. A
    bpftrace that does not answer is ended all the same.
    """
    stopped = False
    with subprocess.Popen(command, stdout=subprocess.PIPE, process_group=0) as process:
        running = BpftraceProcess(process)

        def stop(*_: object) -> None:
            nonlocal stopped
            if not stopped:
                running.end_by(ASKING + ENDING if rows.begun else KILLING)
            stopped = True

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
        print(
            f"trace: bpftrace runs {name} on {os.uname().release};"
            f" stop with Ctrl-C or: kill {os.getpid()}",
            file=sys.stderr,
            flush=True,
        )
        try:
            rows.symbols.load()  # while bpftrace compiles
            for line in running.lines():
                if rows.ended:
                    continue  # bpftrace may be writing still
                relay(line, sink, rows)
                if rows.ended:
                    running.end_by(ENDING)
        except BaseException:  # a full disk, for example: there is no reader
            process.kill()
            raise
    return stopped, process.returncode
