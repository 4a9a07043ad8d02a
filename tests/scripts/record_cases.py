#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""record_cases: record a guest whose disk is slow, as somebody records a host.

Each case is one recording: its command line, and what runs on the disk meanwhile.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import IO

import slow_disk

import lab

WRITESTALL = lab.PROJECT / "writestall"
APPS = lab.PROJECT / "repro/apps"
COMMITS_SLOW = {"submitter": "jbd2/*", "mode": "defer", "delay_us": "300000"}
ALL_SLOW = {"ops": "write,flush", "mode": "defer", "delay_us": "200000"}
# 0.7 s of 3 s each, from FIRST_S after the recording has begun: so none is cut by its
# ends, or is over before a replay's workload has begun.
FIRST_S = 0.6
EPISODES = ALL_SLOW | {"delay_us": "250000", "burst": "700 3000"}
LENGTH = "14s"
SERVED_WITHIN_S = 120


def fio(name: str, length_s: int) -> list[str]:
    """Appends of 512 bytes, 200 a second."""
    words = "--rw=write --bs=512 --rate_iops=200 --size=64M --time_based --thread"
    place = [f"--directory={lab.MOUNT}", f"--runtime={length_s}", f"--name={name}"]
    return ["fio", *place, *words.split(), "--output=/dev/null"]


@contextmanager
def writing() -> Iterator[int]:
    """A program whose bios nothing merges or puts off; yield its pid."""
    script = Path(__file__).with_name("direct-writes.sh")
    with subprocess.Popen([script, "600"], cwd=lab.MOUNT) as process:
        time.sleep(3)  # until its file is laid out
        try:
            yield process.pid
        finally:
            process.kill()


@contextmanager
def nobody() -> Iterator[int]:
    yield 0


@contextmanager
def busy() -> Iterator[int]:
    """Two programs that write to the disk; yield the first one's pid."""
    started = [subprocess.Popen(fio(name, 600)) for name in ("app", "other")]
    try:
        yield started[0].pid
    finally:
        for process in started:
            process.kill()
            process.wait()


@contextmanager
def program(name: str, *words: str) -> Iterator[int]:
    """A program of this folder that writes to the disk; yield its pid."""
    path = Path(__file__).with_name(name)
    command = [sys.executable, str(path), str(lab.MOUNT), *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        lab.expect(bool(process.stdout.readline()), f"{name} did not begin")
        try:
            yield process.pid
        finally:
            process.kill()


@contextmanager
def hidden() -> Iterator[int]:
    """The busy programs, where users see their own processes alone."""
    lab.run("mount", "--options", "remount,hidepid=2", "/proc")
    try:
        with busy() as pid:
            yield pid
    finally:
        lab.run("mount", "--options", "remount,hidepid=0", "/proc")


@contextmanager
def application(name: str, load: Sequence[str], ready: str = "") -> Iterator[int]:
    """A server of repro/apps that says so when it is ready, with clients; yield the
    pid of its first process."""
    out, pid = Path("/tmp/application"), Path(f"/tmp/{name}.pid")
    out.mkdir(exist_ok=True)
    given = {"LAB": str(lab.MOUNT), "OUT": str(out), "DURATION_S": "600"}
    given |= {"TREE": str(lab.PROJECT), "LOAD_PERCENT": "200"}

    def start(
        *words: str, stdout: int | IO[str] | None = None
    ) -> subprocess.Popen[str]:
        command = [str(APPS / words[0]), *words[1:]]
        environment = os.environ | given
        return subprocess.Popen(command, env=environment, stdout=stdout, text=True)

    lab.expect(start(name, "prepare").wait() == 0, f"{name} was not prepared")
    with (out / "said").open("w") as said:
        server = start(name, "serve", stdout=said)
    lab.until(lambda: ready in lab.contents(out / "said"), SERVED_WITHIN_S)
    lab.until(lambda: bool(lab.contents(pid)), SERVED_WITHIN_S)
    time.sleep(2)
    clients = start(*load)
    try:
        yield int(lab.contents(pid).split()[0])
    finally:
        clients.kill()
        start(name, "stop").wait()
        server.wait()


@contextmanager
def collected() -> Iterator[int]:
    """A JVM that logs its collections to the disk, and writes nothing else there;
    yield its pid."""
    log = f"-Xlog:safepoint,gc*:file={lab.MOUNT}/gc.log:timenanos,tid"
    heap = ["-Xmx32m", "-Xms32m", "-XX:+UseSerialGC", log]
    command = ["java", *heap, str(APPS / "Allocate.java")]
    given = os.environ | {"OUT": "/tmp"}
    with subprocess.Popen(command, env=given, stdout=subprocess.PIPE) as process:
        assert process.stdout
        lab.expect(bool(process.stdout.readline()), "the JVM did not begin")
        try:
            yield process.pid
        finally:
            process.kill()


ON_PATH = ["--path", str(lab.MOUNT), "--for", LENGTH]


def of_pid(pid: int) -> list[str]:
    """The words that choose a process."""
    return ["-p", str(pid), "--for", LENGTH]


def profile_of_pid(pid: int) -> list[str]:
    """The same, with its calls and the disks kept."""
    return [*of_pid(pid), "--profile"]


Running = Callable[[], AbstractContextManager[int]]
# Who runs, the words that choose whom to record, and the injector's rule, if any.
Case = tuple[Running, Callable[[int], list[str]], dict[str, str]]
postgresql = partial(application, "postgresql", ("postgresql", "load"))
kafka = partial(application, "kafka", ("kafka-produce",), "kafka-produce: ready")
CASES: dict[str, Case] = {
    "command": (nobody, lambda _: ["--", *fio("app", 14)], COMMITS_SLOW),
    "pid": (postgresql, of_pid, ALL_SLOW),
    "threads": (partial(program, "many_threads.py"), of_pid, COMMITS_SLOW),
    "uring": (partial(program, "uring_syncs.py"), of_pid, ALL_SLOW),
    "short": (busy, lambda _: [*ON_PATH, "--stall", "0.1ms"], COMMITS_SLOW),
    "hidden": (hidden, lambda _: ON_PATH, COMMITS_SLOW),
    "path": (busy, lambda _: ON_PATH, COMMITS_SLOW),
    "broker": (kafka, profile_of_pid, EPISODES),
    "calls": (partial(program, "two_threads.py"), profile_of_pid, EPISODES),
    "healthy": (partial(program, "two_threads.py"), profile_of_pid, {}),
    "collections": (collected, profile_of_pid, ALL_SLOW | {"delay_us": "1200000"}),
    "requests": (partial(program, "uring_syncs.py", "0.02"), profile_of_pid, EPISODES),
    "database": (postgresql, profile_of_pid, EPISODES),
    "profile": (writing, lambda _: [*ON_PATH, "--profile"], EPISODES),
}


def record(case: str, engine: str, modules: Path, out: Path) -> None:
    """Record a case into a folder; fail unless it was recorded."""
    running, words, rule = CASES[case]
    tracer = ["--module", str(modules / "stalled_writes.ko")] * (engine == "stap")
    module = modules.parent / "biodelay.ko"
    slowed = slow_disk.loaded if "burst" in rule else slow_disk.slow
    given = ["--engine", engine, *tracer, "--stall", "100ms", "-o", str(out)]
    with (
        slow_disk.mounted(),
        running() as pid,
        slowed(module, **rule) if rule else nullcontext(),
    ):
        began_s = time.monotonic()
        command = [sys.executable, str(WRITESTALL), "record", *given, *words(pid)]
        with subprocess.Popen(command, env=lab.environment(modules)) as recorder:
            if "burst" in rule:
                lab.until(lambda: bool(lab.contents(out / f"events/{engine}.jsonl")))
                time.sleep(FIRST_S)
                slow_disk.arm()
        status = recorder.returncode
        print(f"{case} {engine}: status {status}, {time.monotonic() - began_s:.1f} s")
        lab.expect(status == 0, f"{case} with {engine} ended with {status}")


def record_all(options: argparse.Namespace) -> int:
    # what fio reads of its program on the host's own disk, which may be slow as well
    with slow_disk.mounted():
        subprocess.run(fio("warm-up", 1), check=True)
    for case in options.case:
        for engine in options.engine:
            out = options.out / f"{case}-{engine}"
            record(case, engine, options.modules, out)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--modules", type=Path, required=True, help="folder of *.ko")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--engine", choices=lab.WORKERS, action="append")
    options = parser.parse_args()
    return lab.status_of(lambda: record_all(options))


if __name__ == "__main__":
    sys.exit(main())
