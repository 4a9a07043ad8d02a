#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will end a recording in every way, kill what takes part in it, and find the
status of its end, and nothing loaded, running or left in memory."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from leftovers import ENDED_WITHIN_S, nothing_left

import lab

WRITESTALL = lab.PROJECT / "writestall"
ARMED = "recording until"
SMALL_KIB = 16 << 10
# base/writestall_base/stop.py has one handler for all: each is sent with one engine.
SIGNALS = {"stap": (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}


class Recording:
    """A `writestall record` in the background."""

    def __init__(
        self, engine: str, modules: Path, *words: str, command: Sequence[str] = ()
    ) -> None:
        self.engine = engine
        self.work = Path(tempfile.mkdtemp(prefix="test-"))
        self.out = self.work / "run"
        module = ["--module", str(modules / "stalled_writes.ko")] * (engine == "stap")
        given = ["--engine", engine, *module, "-o", str(self.out), *words]
        tail = ["--", *command] if command else []
        self.said = self.work / "said"
        self.process = subprocess.Popen(
            [sys.executable, str(WRITESTALL), "record", *given, *tail],
            env=lab.environment(modules),
            stdout=(self.work / "stdout").open("wb"),
            stderr=self.said.open("wb"),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def armed(self) -> None:
        """Return once it records."""

        def said() -> bool:
            lab.expect(self.process.poll() is None, self.said.read_text())
            return ARMED in self.said.read_text()

        lab.until(said)

    def ends(self, status: int, manifest: str | None) -> None:
        """Wait for its end; check its status, and the manifest's."""
        found = self.process.wait(ENDED_WITHIN_S)
        said = self.said.read_text()
        lab.expect(found == status, f"ended with {found}, not {status}: {said}")
        if manifest is not None:
            path = self.out / "manifest.json"
            recorded = json.loads(path.read_text())
            lab.expect(
                recorded["status"] == manifest,
                f"{recorded['status']}: {recorded['reason']}",
            )

    def tracer(self, comm: str) -> int:
        """The pid of that process below it."""
        for pid in lab.descendants(self.process.pid):
            if lab.contents(Path(f"/proc/{pid}/comm")).strip() == comm:
                return pid
        raise lab.FoundError(f"no {comm} below record")

    def launcher(self) -> int:
        """The pid of trace/trace."""
        for pid in lab.descendants(self.process.pid):
            if "trace/trace" in lab.contents(Path(f"/proc/{pid}/cmdline")):
                return pid
        raise lab.FoundError("no launcher below record")


def killed_itself(engine: str, modules: Path) -> None:
    one = Recording(engine, modules)
    one.armed()
    one.process.kill()
    one.ends(-signal.SIGKILL, "running")


def killed_launcher(engine: str, modules: Path) -> None:
    one = Recording(engine, modules)
    one.armed()
    os.kill(one.launcher(), signal.SIGKILL)
    one.ends(1, "failed")


def killed_worker(engine: str, modules: Path) -> None:
    one = Recording(engine, modules)
    one.armed()
    os.kill(one.tracer(lab.WORKERS[engine]), signal.SIGKILL)
    one.ends(1, "failed")
    lab.expect("ended early" in one.said.read_text(), one.said.read_text())


def stopped_before_it_was_armed(engine: str, modules: Path) -> None:
    one = Recording(engine, modules)
    lab.until((one.out / "manifest.json").exists)
    one.process.send_signal(signal.SIGINT)
    one.ends(1, "cut_off")


def signalled(engine: str, modules: Path) -> None:
    for number in SIGNALS.get(engine, (signal.SIGTERM,)):
        one = Recording(engine, modules)
        one.armed()
        one.process.send_signal(number)
        one.ends(0, "complete")


def timed(engine: str, modules: Path) -> None:
    Recording(engine, modules, "--for", "1s").ends(0, "complete")


def redacted(engine: str, modules: Path) -> None:
    one = Recording(engine, modules, "--for", "1s", "--redact")
    one.ends(0, "complete")
    recorded = json.loads((one.out / "manifest.json").read_text())
    lab.expect(recorded["host"]["name"] == "host", str(recorded["host"]))
    lab.expect(not list((one.out / "events").glob("*.log")), "a tracer's messages")


def killed_while_it_hides(engine: str, modules: Path) -> None:
    one = Recording(engine, modules, "--redact")
    one.armed()
    one.process.kill()
    one.ends(-signal.SIGKILL, None)
    lab.expect(not any(one.out.iterdir()), "names got out")


def out_of_space(engine: str, modules: Path) -> None:
    """The run's disk fills up while it records."""
    place, said = Path(tempfile.mkdtemp(prefix="small-")), ""
    lab.run("mount", "-t", "tmpfs", "-o", f"size={SMALL_KIB}k,mode=700", "tmpfs", place)
    try:
        out = str(place / "run")
        one = Recording(engine, modules, "--floor", "10us", "-o", out)
        one.out = Path(out)
        one.armed()
        filler = f"dd if=/dev/zero of={place}/filler bs=64k 2>/dev/null || :"
        lab.run("sh", "-c", filler)
        one.ends(1, None)
        said = one.said.read_text()
        lab.expect("No space left on device" in said, said)
    finally:
        for folder in Path("/dev/shm").glob("writestall-run-*"):
            lab.expect(str(folder) in said, f"{folder} is not named")
            lab.run("rm", "-r", folder)
        lab.run("umount", place)


def command(text: str) -> list[str]:
    return ["sh", "-c", text]


def keeps_the_status(engine: str, modules: Path) -> None:
    text = "echo to stdout; echo to stderr >&2; exit 7"
    one = Recording(engine, modules, command=command(text))
    one.ends(7, "complete")
    lab.expect((one.work / "stdout").read_text() == "to stdout\n", "stdout")
    lab.expect(one.said.read_text() == "to stderr\n", one.said.read_text())
    Recording(engine, modules, command=command("kill -KILL $$")).ends(137, "complete")


def hands_on_signals(engine: str, modules: Path) -> None:
    one = Recording(engine, modules, command=["sleep", "600"])
    lab.until(lambda: one.tracer("sleep") > 0 if _begun(one) else False)
    one.process.send_signal(signal.SIGTERM)
    one.ends(143, "complete")


def _begun(one: Recording) -> bool:
    pids = lab.descendants(one.process.pid)
    return any(lab.contents(Path(f"/proc/{p}/comm")) == "sleep\n" for p in pids)


def says_why_a_command_was_not_begun(engine: str, modules: Path) -> None:
    other = modules / "slow_writes.ko"
    one = Recording(engine, modules, "--module", str(other), command=["touch", "/made"])
    one.ends(1, "failed")
    said = one.said.read_text()
    lab.expect("slow_writes.ko is not stalled_writes.ko" in said, said)
    lab.expect(not Path("/made").exists(), "the command was begun")


def outlives_its_time(engine: str, modules: Path) -> None:
    """--for ends the recording, not the command."""
    one = Recording(engine, modules, "--for", "1s", command=command("sleep 4; exit 3"))
    one.ends(3, "complete")
    window = json.loads((one.out / "manifest.json").read_text())["window"]
    lab.expect(window["end_ns"] - window["start_ns"] < 3 * 10**9, str(window))


def ends_with_its_process(engine: str, modules: Path) -> None:
    with subprocess.Popen(["sleep", "600"]) as chosen:
        one = Recording(engine, modules, "--pid", str(chosen.pid))
        one.armed()
        chosen.kill()
    one.ends(1, "cut_off")
    said = one.said.read_text()
    lab.expect(f"record: process {chosen.pid} ended\n" in said, said)


def says_that_its_process_is_gone(engine: str, modules: Path) -> None:
    """It ends while the tracer is being armed."""
    with subprocess.Popen(["sleep", "600"]) as chosen:
        one = Recording(engine, modules, "--pid", str(chosen.pid))
        lab.until(lambda: (one.out / "events").exists())
        chosen.kill()
    one.ends(1, "failed")
    said = one.said.read_text()
    lab.expect("ended before it was recorded" in said, said)


def warns_of_a_name_that_nobody_has(engine: str, modules: Path) -> None:
    one = Recording(engine, modules, "--comm", "nobody", "--for", "1s")
    one.ends(0, "complete")
    said = one.said.read_text()
    lab.expect("no process is called nobody now" in said, said)


Way = Callable[[str, Path], None]
KILLED: tuple[Way, ...] = (killed_itself, killed_launcher, killed_worker)
CHOSEN: tuple[Way, ...] = (
    *(ends_with_its_process, says_that_its_process_is_gone),
    warns_of_a_name_that_nobody_has,
)
ENDED: tuple[Way, ...] = (
    *(signalled, timed, redacted, killed_while_it_hides, out_of_space),
    *(keeps_the_status, hands_on_signals, outlives_its_time),
    *(says_why_a_command_was_not_begun, stopped_before_it_was_armed),
)


def test(options: argparse.Namespace) -> None:
    for engine in options.engine or lab.serving():
        # what the engines do not differ in, one shows
        more = ENDED if engine == "stap" else (signalled, *CHOSEN)
        for way in (*KILLED, *more):
            way(engine, options.modules)
            nothing_left(f"{way.__name__} with {engine}")
            print(f"{way.__name__} with {engine}: ok", flush=True)


if __name__ == "__main__":
    sys.exit(lab.main(test))
