# SPDX-License-Identifier: GPL-2.0-only
"""injector: a scenario's rules to biodelay.ko's parameters, and its record back.

The only module that knows how biodelay is spoken to (kmod/README.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from labrun import kernel
from labrun.errors import RefusedError, StepError
from labrun.process import tool
from labrun.run import Run
from labrun.scenario import Inject

NAME = "biodelay"
MODULE = "biodelay.ko"
ENABLED = Path("/sys/module/biodelay/parameters/enabled")
VERSION = Path("/sys/module/biodelay/version")
DEBUGFS = Path("/sys/kernel/debug")
STATUS = DEBUGFS / "biodelay/status"
RECORD = DEBUGFS / "biodelay/record"
READ_BYTES = 1 << 16


def check_rules(rules: tuple[Inject, ...]) -> None:
    """Refuse what this biodelay cannot do: module parameters make one rule."""
    if len(rules) > 1:
        raise RefusedError(f"the scenario has {len(rules)} rules; biodelay takes one")


def parameters(rule: Inject, disk: str, bare_metal: bool) -> list[str]:
    """insmod's parameters for one rule, not armed."""
    return [
        f"device={disk}",
        f"submitter={rule.submitter}",
        *([f"ops={','.join(rule.ops)}"] if rule.ops else []),
        f"delay_us={rule.delay_us}",
        f"mode={rule.mode}",
        *(["allow_bare_metal=1"] if bare_metal else []),
        "enabled=0",
    ]


class Injector:
    """A loaded biodelay with one rule."""

    def __init__(self, truth: BinaryIO) -> None:
        self._truth = truth
        self._records = 0

    def drain(self) -> None:
        """Move what was recorded so far to truth.jsonl."""
        with RECORD.open("rb", buffering=0) as record:
            while lines := record.read(READ_BYTES):
                self._truth.write(lines)
                self._records += lines.count(b"\n")

    def close(self) -> str:
        """The record's last line; says how many it holds, and fails on lost ones."""
        self.drain()
        lost = int(status()["records_lost"])
        line = {"ev": "end", "records": self._records, "lost": lost}
        self._truth.write(json.dumps(line).encode() + b"\n")
        if lost:
            raise StepError(f"biodelay lost {lost} records of {self._records + lost}")
        return f"{self._records} bios delayed"


def status() -> dict[str, int | str]:
    """The status file's `key value` lines."""
    found: dict[str, int | str] = {}
    for line in STATUS.read_text().splitlines():
        name, _, value = line.partition(" ")
        found[name] = int(value) if value.strip().isdigit() else value.strip()
    return found


@contextmanager
def loaded(run: Run, module: Path, parameters: list[str]) -> Iterator[Injector]:
    """biodelay with its rule, not armed; unloaded with its record kept."""
    if kernel.loaded(NAME):
        raise StepError(f"{NAME} is loaded already: rmmod {NAME}")
    with (run.folder / "truth.jsonl").open("wb", buffering=0) as truth:
        injector = Injector(truth)
        try:
            with run.step("inject", " ".join(parameters)):
                with kernel.explained(NAME):
                    tool(["insmod", str(module), *parameters])
                run.manifest["injector"] = {
                    "name": NAME,
                    "version": VERSION.read_text().strip(),
                    "rules": parameters,
                    "counters": None,
                }
            yield injector
        finally:
            with run.undo("truth") as step:
                if kernel.loaded(NAME):
                    run.manifest["injector"]["counters"] = status()
                    step.detail = injector.close()
                else:
                    step.skip(f"{NAME} is not loaded")
            with run.undo("unload") as step:
                if kernel.loaded(NAME):
                    tool(["rmmod", NAME])
                else:
                    step.skip(f"{NAME} is not loaded")


@contextmanager
def armed(run: Run) -> Iterator[None]:
    """Delays happen inside, and nowhere else."""
    try:
        with run.step("arm"):
            _enable("1")
        yield
    finally:
        with run.undo("disarm"):
            _enable("0")


def _enable(value: str) -> None:
    with kernel.explained(NAME):
        try:
            ENABLED.write_text(f"{value}\n")
        except OSError as error:
            raise StepError(f"{ENABLED}: {error.strerror}") from None
