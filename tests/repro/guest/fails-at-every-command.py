#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will make each command that a run calls fail in turn, and check that the
run names the command, and undoes what it had done but for what that command undoes.

Arguments go to every repro/run: --build DIR.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from every_step import SCENARIOS, start, write_scenario
from traces_of_a_run import Settings, leftovers, settings

END_S = 120
REFUSAL = "made to fail"
# Everything that repro/run calls by its name, and the tracer.
TOOLS = """blockdev dmsetup fsck.ext4 insmod losetup mkdir mke2fs mkfs.ext4 mkswap
modprobe mount rmmod sh staprun swapoff swapon umount wipefs""".split()
# staprun calls itself by a shell to unload its module; the launcher does it then.
RECOVERED = "sh -c /usr/bin/staprun"
# A call is logged as one line; the FAIL_AT-th one fails.
WRAPPER = """#!/bin/bash
printf '%s\\n' "{name} $*" >>"$CALLS"
if [[ $(wc -l <"$CALLS") == "$FAIL_AT" ]]; then
	echo "{name}: {refusal}" >&2
	exit 1
fi
exec {real} "$@"
"""


@dataclass(frozen=True)
class Run:
    """A run in which one call failed, or none: what was called, and how it ended."""

    calls: list[str]
    status: int
    said: list[str]
    manifest: dict[str, Any]


def wrap(folder: Path) -> None:
    """Put a wrapper of each tool into the folder."""
    for name in TOOLS:
        if real := shutil.which(name):
            wrapper = folder / name
            wrapper.write_text(WRAPPER.format(name=name, real=real, refusal=REFUSAL))
            wrapper.chmod(0o755)


def run(folder: Path, wrappers: Path, number: int, arguments: list[str]) -> Run:
    """A run whose call of that number fails; none does where it is 0."""
    out, calls = folder / f"out-{number}", folder / f"calls-{number}"
    path = f"{wrappers}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "CALLS": str(calls)}
    running = start(out, arguments, environment | {"FAIL_AT": str(number)})
    _, said = running.communicate(timeout=END_S)
    lines = [line for line in said.splitlines() if not line.startswith("{")]
    found = out / "manifest.json"
    manifest = json.loads(found.read_text()) if found.exists() else {}
    return Run(calls.read_text().splitlines(), running.returncode, lines, manifest)


def clean_up() -> None:
    """Undo for real what the failed command would have."""
    for line in Path("/proc/mounts").read_text().splitlines():
        if "writestall-mnt-" in line:
            subprocess.run(["umount", line.split()[1]], check=False)
    rules = Path("/sys/kernel/config/biodelay")
    for command in (
        *(["rmdir", str(rule)] for rule in rules.glob("*/")),
        ["rmmod", "biodelay"],
        ["swapoff", "-a"],
        ["losetup", "--detach-all"],
    ):
        subprocess.run(command, capture_output=True, check=False)
    for place in Path(tempfile.gettempdir()).glob("writestall-mnt-*"):
        place.rmdir()


def faults(made: Run, call: str, undoing: bool, before: Settings) -> list[str]:
    """What is wrong with a run in which that call failed."""
    tool, found = call.split()[0], []
    left = leftovers(before)
    if left and not undoing:
        found.append(f"left behind: {left}")
    if call.startswith(RECOVERED):
        return found + [f"it ended with status {made.status}"] * bool(made.status)
    if made.status == 0:
        found.append("it ended with status 0")
    if made.manifest.get("status") == "complete":
        found.append("the manifest says that it is complete")
    # The launcher's own messages are in the tracer's log, and name its engine.
    names = ("tracer stap",) if tool == "staprun" else (f"{tool}: {REFUSAL}",)
    if not any(name in line for name in names for line in made.said):
        found.append(f"nothing names the command: {made.said[-2:]}")
    if made.said and len(made.said) > 3:
        found.append(f"more than a line: {made.said}")
    return found


def one_by_one(folder: Path, name: str, tried: set[str], arguments: list[str]) -> int:
    """Let each call of a scenario fail that is not tried yet; how many went wrong."""
    write_scenario(folder, name)
    wrappers = folder / "wrappers"
    wrappers.mkdir()
    wrap(wrappers)
    before = settings()
    whole = run(folder, wrappers, 0, arguments)
    assert whole.status == 0, f"the undisturbed run failed: {whole.said}"
    failures = 0
    for number, call in enumerate(whole.calls, 1):
        kind = " ".join(word for word in call.split()[:2] if "/" not in word)
        if kind in tried:
            continue
        tried.add(kind)
        made = run(folder, wrappers, number, arguments)
        undoing = call.startswith(("umount", "rmmod", "swapoff", "losetup --detach"))
        found = faults(made, call, undoing, before)
        print(f"{name}: {number} {kind}: status {made.status}: {made.said[-1:]}")
        for line in found:
            print(f"FAILED: {name}: {call}: {line}", flush=True)
        failures += bool(found)
        clean_up()
    print(f"{name}: {len(whole.calls)} calls, {failures} failures", flush=True)
    return failures


def main() -> bool:
    tried, failures = set[str](), 0
    arguments = ["--duration-s", "1", *sys.argv[1:]]
    for name in SCENARIOS:
        folder = Path(tempfile.mkdtemp(prefix="test-"))
        failures += one_by_one(folder, name, tried, arguments)
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
