#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""attacked: record and watch a guest in which a user tries every trick against them.

The recordings must not hold what that user may not read, honest stalls must be listed,
metrics answered, a dump written, and the memory bounded (docs/threat-model.md).
"""

from __future__ import annotations

import argparse
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import attacker
import slow_disk
import watching
from attacker import CGROUP
from leftovers import nothing_left

import lab

LISTEN = f"127.0.0.1:{attacker.PORT}"
SLOW = {"ops": "write,flush", "mode": "defer", "delay_us": "200000"}
# `watch` and its launcher together, as the unit's MemoryMax= has it.
MOST_MIB = 256
SCRAPE_WITHIN_S, SCRAPE_EVERY_S = 10.0, 5.0
HONEST_EVERY_S = 3.0
# One that is being written, then the one that is asked for: dump.WITHIN_S each.
DUMP_WITHIN_S, DUMP_ASKED_EVERY_S = 150.0, 1.0
FOLDER = Path("/root/attacked")


@contextmanager
def secret() -> Iterator[Path]:
    """A file that only root may read, and another with the same word in /tmp."""
    word = secrets.token_hex(16)
    FOLDER.parent.chmod(0o711)
    for place in (FOLDER / "secret", attacker.SECRET_IN_TMP):
        place.parent.mkdir(mode=0o711, exist_ok=True)
        place.write_text(f"1000 10 {word}\n")
        place.chmod(0o600)
    Path("/proc/sys/fs/protected_hardlinks").write_text("0")
    yield FOLDER / "secret"


@contextmanager
def attacked(names: list[str], hidden: Path) -> Iterator[dict[str, int]]:
    """All these tricks at once; they are killed at the end.

    Their cgroup is delegated to the user, and shares the CPU with what is outside,
    as a user's slice does with that of services whose CPUQuota= is set
    (systemd.resource-control(5)): in the service's own cgroup, whoever runs many
    processes takes its time, and it loses events, which it tells.
    """
    CGROUP.mkdir(exist_ok=True)
    (CGROUP.parent / "cgroup.subtree_control").write_text("+cpu")
    Path("/dev/fuse").chmod(0o666)  # as udev's rules have it
    for file in (CGROUP, CGROUP / "cgroup.procs"):
        os.chown(file, attacker.NOBODY, attacker.NOBODY)
    begun = {name: attacker.begin(name, lab.MOUNT, hidden) for name in names}
    try:
        yield begun
    finally:
        lab.run("sh", "-c", f"pkill --signal KILL --uid {attacker.NOBODY} || :")
        for pid in begun.values():
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)


def resident_mib(pids: list[int]) -> float:
    """What these processes hold."""
    found = 0
    for pid in pids:
        fields = lab.contents(Path(f"/proc/{pid}/statm")).split()
        found += int(fields[1]) * os.sysconf("SC_PAGE_SIZE") if fields else 0
    return found / 2**20


class Honest(threading.Thread):
    """A process of root's whose calls stall; scrapes, memory and time are noted."""

    def __init__(self, one: watching.Watch | None, seconds: float) -> None:
        super().__init__()
        self.one, self.until_s = one, time.monotonic() + seconds
        self.stalls, self.scrapes, self.failed, self.most_mib = 0, 0, 0, 0.0

    def run(self) -> None:
        scraped_s = 0.0
        while time.monotonic() < self.until_s:
            attacker.stall(lab.MOUNT / "honest", 1)
            self.stalls += 1
            if self.one:
                parts = [self.one.process.pid, *lab.descendants(self.one.process.pid)]
                self.most_mib = max(self.most_mib, resident_mib(parts))
                if time.monotonic() - scraped_s > SCRAPE_EVERY_S:
                    scraped_s = time.monotonic()
                    self._scrape()
            time.sleep(HONEST_EVERY_S)

    def _scrape(self) -> None:
        try:
            url = f"http://{LISTEN}/metrics"
            with urllib.request.urlopen(url, timeout=SCRAPE_WITHIN_S) as page:
                page.read()
            self.scrapes += 1
        except OSError:
            self.failed += 1


def holds(folder: Path, word: str) -> list[Path]:
    """The files below a folder that hold a word, compressed or not."""
    done = subprocess.run(
        ["sh", "-c", f"find '{folder}' -type f -exec zgrep -la {word} {{}} +"],
        capture_output=True,
        text=True,
        check=False,
    )
    return [Path(line) for line in done.stdout.splitlines()]


def watched(engine: str, options: argparse.Namespace, hidden: Path) -> str:
    words = ["--stall", "100ms", "--listen", LISTEN, "--path", str(lab.MOUNT)]
    with watching.watch(engine, options.modules, *words) as one:
        with attacked(options.trick, hidden) as begun:
            honest = Honest(one, options.seconds)
            honest.start()
            honest.join()
            ask = [sys.executable, str(watching.WRITESTALL), "watch", "--dump"]
            lab.run(*ask)
            refused = "trigger asked: "
            lab.until(
                lambda: one.said("(asked)") or one.said(refused),
                DUMP_WITHIN_S,
                DUMP_ASKED_EVERY_S,
            )
            why = [x["message"] for x in one.lines() if refused in x["message"]]
            lab.expect(one.said("(asked)"), str(why))
            ended = [name for name, pid in begun.items() if ended_already(pid)]
        one.stop()
        listed = [x for x in one.stalls() if x["file"].endswith("honest")]
        said = [x["message"] for x in one.lines() if "not read" in x["message"]]
    word = hidden.read_text().split()[-1]
    leaked = holds(one.work, word)
    lab.expect(not leaked, f"the secret is in {leaked}")
    lab.expect(not ended, f"tricks that did not work: {ended}")
    others = [x["message"] for x in one.lines() if "duration_ms" not in x]
    message = f"{len(listed)} of {honest.stalls} honest stalls listed; {others[-9:]}"
    lab.expect(len(listed) >= 0.9 * honest.stalls, message)
    lab.expect(honest.failed == 0, f"{honest.failed} scrapes failed")
    lab.expect(honest.most_mib <= MOST_MIB, f"{honest.most_mib:.0f} MiB")
    nothing_left("a watch that was attacked")
    return (
        f"watch {engine}: {len(listed)} of {honest.stalls} honest stalls listed,"
        f" {honest.scrapes} scrapes, {honest.most_mib:.0f} MiB at most; {said[-2:]}"
    )


def ended_already(pid: int) -> bool:
    """Whether a trick ended by itself: it did not work here."""
    return os.waitpid(pid, os.WNOHANG) != (0, 0)


def recorded(engine: str, options: argparse.Namespace, hidden: Path) -> str:
    module = ["--module", str(options.modules / "stalled_writes.ko")]
    out = Path(tempfile.mkdtemp(prefix="record-", dir="/dev/shm")) / "run"
    words = ["--engine", engine, *module * (engine == "stap"), "--stall", "100ms"]
    words += ["--path", str(lab.MOUNT), "--for", f"{options.seconds}s", "-o", str(out)]
    with attacked(options.trick, hidden):
        honest = Honest(None, options.seconds)
        honest.start()
        done = subprocess.run(
            [sys.executable, str(watching.WRITESTALL), "record", *words],
            env=lab.environment(options.modules),
            capture_output=True,
            text=True,
            check=False,
            timeout=options.seconds + 240,
        )
        honest.join()
    lab.expect(done.returncode == 0, f"status {done.returncode}: {done.stderr[-2000:]}")
    leaked = holds(out.parent, hidden.read_text().split()[-1])
    lab.expect(not leaked, f"the secret is in {leaked}")
    nothing_left("a record that was attacked")
    maps = len(list((out / "symbols").glob("*.map")))
    said = [line for line in done.stderr.splitlines() if "not read" in line]
    return f"record {engine}: {honest.stalls} honest stalls, {maps} maps; {said[-2:]}"


CASES = {"watch": watched, "record": recorded}


def all_cases(options: argparse.Namespace) -> int:
    for engine in options.engine:
        for case in options.case or CASES:
            with (
                secret() as hidden,
                slow_disk.mounted(),
                slow_disk.slow(options.modules.parent / "biodelay.ko", **SLOW),
            ):
                print(CASES[case](engine, options, hidden), flush=True)
    return 0


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--modules", type=Path, required=True, help="folder of *.ko")
    parser.add_argument("--engine", choices=lab.WORKERS, action="append")
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--trick", choices=attacker.TRICKS, action="append")
    parser.add_argument("--seconds", type=int, default=30)
    options = parser.parse_args()
    options.engine = options.engine or [lab.CORE]
    options.trick = options.trick or list(attacker.TRICKS)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    return lab.status_of(lambda: all_cases(options))


if __name__ == "__main__":
    sys.exit(main())
