#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""watch_cases: watch a guest whose disk stalls, and hold what is told to the truth.

The truth of the first case is what the client measured of its own writes while our
injector delays the journal's bios; of the others, a disk that is suspended on command.
"""

from __future__ import annotations

import argparse
import bisect
import json
import os
import re
import signal
import socket
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import slow_disk
import watching
from leftovers import ENDED_WITHIN_S, nothing_left

import lab

# The scenario journal-buffer with a commit each second, which stalls the writer once.
OPTIONS = "commit=1"
COMMITS_SLOW = {"submitter": "jbd2/*", "mode": "sleep"}
STALL_MS, UNSURE_MS = 50, 15
SETTLED_S = 6
KEPT_S = 60  # of events: --keep
SHOWN = 5
FIFTHS = 5
GROWN_MIB = 2  # since a fifth of the time
ROOT = "vdb slow for jbd2"
PORT = 9709
LISTEN = f"127.0.0.1:{PORT}"
HELD_S = 6.5
Told = dict[str, Any]


def client(options: argparse.Namespace, name: str, seconds: int) -> list[lab.Event]:
    """Appends of 600 bytes to new files; the slow ones, as the client saw them."""
    record = Path("/dev/shm/writer.jsonl")
    (lab.MOUNT / name).mkdir()
    words = f"--bytes 600 --duration-s {seconds} --slow-us 20000 {options.client}"
    place = ["--path", str(lab.MOUNT / name), "--slow-log", str(record)]
    lab.run(options.modules.parent / "latwriter", *words.split(), *place)
    rows = [json.loads(line) for line in record.read_text().splitlines()]
    return [row for row in rows if row["ev"] == "client_write"]


Span = tuple[int, int, int]  # a task, and of CLOCK_MONOTONIC, in ns


def _apart(spans: list[Span], others: list[Span]) -> list[Span]:
    """Those that overlap none of the others of their task, which are apart, too."""
    others = sorted(others)

    def overlaps(span: Span) -> bool:
        tid, start_ns, end_ns = span
        before = bisect.bisect_left(others, (tid, end_ns))
        if before == 0:
            return False
        other_tid, _, other_end_ns = others[before - 1]
        return other_tid == tid and other_end_ns > start_ns

    return [span for span in spans if not overlaps(span)]


def _span(write: lab.Event) -> Span:
    return write["tid"], write["t_ns"], write["t_ns"] + write["dur_ns"]


def _told_span(line: watching.Line) -> Span:
    start_ns = int(line["start_monotonic_ns"])
    return int(line["tid"]), start_ns, start_ns + int(line["duration_ms"]) * 10**6


def every_stall(engine: str, options: argparse.Namespace) -> Told:
    """Each stall of the client is told once or counted as lost, and nothing else."""
    build = options.modules.parent
    words = ["--stall", f"{STALL_MS}ms", "--path", str(lab.MOUNT)]
    words += ["--listen", LISTEN] * bool(options.scrape_s)
    slow = COMMITS_SLOW | {"delay_us": str(options.delay_ms * 1000)}
    writes, resident_mib = [], []
    with (
        slow_disk.mounted(OPTIONS),
        watching.watch(engine, options.modules, *words) as one,
    ):
        with (
            slow_disk.slow(build / "biodelay.ko", **slow),
            scraping(options.scrape_s) as scrapes,
        ):
            for fifth in range(FIFTHS):
                writes += client(options, f"part-{fifth}", options.seconds // FIFTHS)
                resident_mib.append(one.cost()["resident_mib"])
        time.sleep(SETTLED_S)
        cost = one.cost()
        last = one.stop()
        clients = [line for line in one.stalls() if line["comm"] == "latwriter"]
        lost = [line for line in one.lines() if "LOST" in line["message"]]
    # The client measures all of its calls but the one that makes its file.
    told = [line for line in clients if line["call"] != "openat"]
    sure = [row for row in writes if row["dur_ns"] >= (STALL_MS + UNSURE_MS) * 10**6]
    spans = [_told_span(line) for line in told]
    missing = _apart([_span(row) for row in sure], spans)
    made_up = _apart(spans, [_span(row) for row in writes])
    right = sum(int(x["duration_ms"]) for x in told if x["root"].startswith(ROOT))
    whole = sum(int(x["duration_ms"]) for x in told)
    print(f"{engine}: {len(sure)} stalls, {len(told)} told, {len(lost)} losses; {last}")
    print(f"{engine}: MiB after each fifth: {resident_mib}; {cost}")
    print(f"{engine}: {len(scrapes)} scrapes, {max(scrapes, default=0)} bytes at most")
    for line in [x for x in clients if x["call"] == "openat"]:
        print(f"{engine}: not measured: {line['message']}")
    for line in [x for x in told if not x["root"].startswith(ROOT)][:SHOWN]:
        print(f"{engine}: another root: {line['message']}")
    lab.expect(not missing or bool(lost), f"not told: {missing[:3]}, {len(missing)}")
    false = [x["message"] for x in told if _told_span(x) in made_up]
    lab.expect(not made_up, f"no stall of the client: {false[:3]}")
    lab.expect(len(told) == len({_told_span(x) for x in told}), "told twice")
    lab.expect(len(sure) >= options.seconds / 3, f"{len(sure)} stalls only")
    asked_s = len(scrapes) * options.scrape_s
    lab.expect(asked_s >= 0.5 * options.seconds * bool(options.scrape_s), "no metrics")
    lab.expect(right >= 0.95 * whole, f"{right} of {whole} ms have the root {ROOT}")
    found: Told = {
        "stalls": len(sure),
        "told": len(told),
        "right_ms": right,
        "ms": whole,
    }
    if options.seconds // FIFTHS > KEPT_S:
        grown_mib = round(cost["resident_mib"] - resident_mib[0], 1)
        lab.expect(grown_mib <= GROWN_MIB, f"it grew: {resident_mib}, {cost}")
        found["grown_mib"] = grown_mib
    return found | cost


def open_stall(engine: str, options: argparse.Namespace) -> Told:
    """A call that lasts is told while it does; disk full, clients and clock are met."""
    with (
        lab.disk() as disk,
        small_disk() as full,
        watching.watch(
            engine, options.modules, "--listen", LISTEN, "--dump-dir", str(full)
        ) as one,
    ):
        silent = [socket.create_connection(("127.0.0.1", PORT)) for _ in range(20)]
        begun_s = time.monotonic()
        watching.held_write(disk, HELD_S)
        ended_s = time.monotonic()
        lab.until(lambda: bool(one.stalls()), 5)
        told_after_s = time.monotonic() - ended_s
        texts = [line["message"] for line in one.lines()]
        shown = re.findall(
            r"pwrite64\(2\) lab/held has not ended for (\d+) s: it waits for (\S+)",
            "\n".join(texts),
        )
        ages = [int(age) for age, _ in shown]
        lab.expect(len(ages) == 2, f"shown: {texts}")
        lab.expect(2 <= ages[0] <= 3 and 4 <= ages[1] <= 6, f"shown: {texts}")
        fails_and_writes(one, full)
        steps_the_clock(one)
        scraped = scrape()
        lab.expect('call="pwrite64"' in scraped, scraped)
        lab.expect("writestall_dumps_total{" in scraped, scraped)
        for client in silent:
            client.close()
        one.stop()
    nothing_left("a watch that was ended")
    return {"shown": ages, "told_after_s": round(told_after_s, 1),
            "held_s": round(ended_s - begun_s, 1)}  # fmt: skip


@contextmanager
def small_disk() -> Iterator[Path]:
    """A folder for dumps, on a file system of its own that is full."""
    place = Path(tempfile.mkdtemp(prefix="full-"))
    lab.run("mount", "-t", "tmpfs", "-o", "size=1m,mode=700", "tmpfs", place)
    try:
        lab.run("sh", "-c", f"dd if=/dev/zero of={place}/filler bs=4k 2>/dev/null || :")
        yield place
    finally:
        lab.run("umount", place)


def fails_and_writes(one: watching.Watch, full: Path) -> None:
    """A dump finds no room, and says so; with room it is explained."""
    ask = [sys.executable, str(watching.WRITESTALL), "watch", "--dump"]
    lab.run(*ask)
    lab.until(lambda: one.said("no run directory for the trigger asked"), 30)
    (full / "filler").unlink()
    lab.run(*ask)
    lab.until(lambda: one.said("(asked): writestall report"), 30)
    (run,) = full.iterdir()
    command = [
        "env",
        f"PYTHONPATH={lab.PROJECT}/base:{lab.PROJECT}/analysis",
        sys.executable,
        "-m",
    ]
    done = lab.run(*command, "writestall", "explain", run, "--json", "--all")
    summary = json.loads(done)["summary"]
    lab.expect(summary["stalls"] >= 1, done)
    lab.expect(summary["notes"] == [], str(summary["notes"]))


def steps_the_clock(one: watching.Watch) -> None:
    """The clock is set by an hour, and back."""
    for step_s in (3600, -3600):
        time.clock_settime(time.CLOCK_REALTIME, time.time() + step_s)
        told = f"the clock was set by {step_s:+}"
        lab.until(partial(one.said, told), 10)


def scrape() -> str:
    """The metrics, while other clients ask nothing."""
    deadline_s = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(f"http://{LISTEN}/metrics", timeout=20) as page:
                return str(page.read().decode())
        except OSError as error:
            lab.expect(time.monotonic() < deadline_s, f"no metrics: {error}")
            time.sleep(0.5)


@contextmanager
def scraping(every_s: int) -> Iterator[list[int]]:
    """Scrape each so many seconds, not at all if none; the sizes of the answers."""
    sizes: list[int] = []
    ended = threading.Event()

    def scrape_on() -> None:
        while every_s and not ended.wait(every_s):
            sizes.append(len(scrape()))

    thread = threading.Thread(target=scrape_on)
    thread.start()
    try:
        yield sizes
    finally:
        ended.set()
        thread.join()


def ends(engine: str, options: argparse.Namespace) -> Told:
    """Killed in each of its parts, it leaves nothing, and the next one says so."""
    ways: dict[str, Callable[[watching.Watch], int]] = {
        "watch": lambda one: one.process.pid,
        "launcher": lambda one: one.part("cmdline", "trace/trace"),
        "engine": lambda one: one.part("comm", lab.WORKERS[engine]),
    }
    for name, pid in ways.items():
        one = watching.Watch(engine, options.modules)
        one.wait_armed()
        os.kill(pid(one), signal.SIGKILL)
        status = one.process.wait(ENDED_WITHIN_S)
        wanted = -signal.SIGKILL if name == "watch" else 1
        lab.expect(status == wanted, f"{name}: {status}: {one.tail()}")
        if name != "watch":
            lab.expect(one.said("the tracer ended: "), one.tail())
        nothing_left(f"{name} killed with {engine}")
        killed = name == "launcher"  # the one before it was
        lab.expect(one.said("the last watch was killed") == killed, one.tail())
    return {"ways": len(ways)}


CASES: dict[str, Callable[[str, argparse.Namespace], Told]] = {
    "every-stall": every_stall,
    "open-stall": open_stall,
    "ends": ends,
}


def all_cases(options: argparse.Namespace) -> int:
    for case in options.case or CASES:
        for engine in options.engine or lab.WORKERS:
            began_s = time.monotonic()
            found = CASES[case](engine, options)
            took_s = time.monotonic() - began_s
            print(f"{case} {engine}: {json.dumps(found)}, {took_s:.0f} s", flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--modules", type=Path, required=True, help="folder of *.ko")
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--engine", choices=lab.WORKERS, action="append")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--client", default="", help="more options of latwriter")
    parser.add_argument("--delay-ms", type=int, default=150, help="of a jbd2 bio")
    parser.add_argument("--scrape-s", type=int, default=0, help="0: no metrics")
    options = parser.parse_args()
    return lab.status_of(lambda: all_cases(options))


if __name__ == "__main__":
    sys.exit(main())
