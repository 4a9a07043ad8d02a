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
from labrun.errors import StepError
from labrun.process import tool
from labrun.rule import attributes
from labrun.run import Run
from labrun.scenario import Scenario

NAME = "biodelay"
MODULE = "biodelay.ko"
VERSION = Path("/sys/module/biodelay/version")
CONFIGFS = Path("/sys/kernel/config")
RULES = CONFIGFS / "biodelay"
DEBUGFS = Path("/sys/kernel/debug")
STATUS = DEBUGFS / "biodelay/status"
RECORD = DEBUGFS / "biodelay/record"
READ_BYTES = 1 << 16


def parameters(bare_metal: bool) -> list[str]:
    """insmod's parameters: the rules come as folders."""
    return ["allow_bare_metal=1"] if bare_metal else []


def folder(number: int) -> Path:
    """A rule's folder in configfs."""
    return RULES / f"rule{number}"


def rules(scenario: Scenario, disk: str, journal: str | None) -> list[dict[str, str]]:
    """The attributes of each of a scenario's rules, first match wins."""
    names = {"scratch": disk, "journal": journal or ""}
    return [
        attributes(rule, number, names[rule.disk], scenario.seed + number)
        for number, rule in enumerate(scenario.inject)
    ]


class Injector:
    """A loaded biodelay with its rules."""

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
def loaded(
    run: Run, module: Path, parameters: list[str], rules: list[dict[str, str]]
) -> Iterator[Injector]:
    """biodelay with its rules, not armed; unloaded with its record kept."""
    if kernel.loaded(NAME):
        raise StepError(f"{NAME} is loaded already: rmmod {NAME}")
    with (run.folder / "truth.jsonl").open("wb", buffering=0) as truth:
        injector = Injector(truth)
        try:
            with run.step("inject", "; ".join(map(_short, rules))):
                with kernel.explained(NAME):
                    tool(["insmod", str(module), *parameters])
                    _make(rules)
                run.manifest["injector"] = {
                    "name": NAME,
                    "version": VERSION.read_text().strip(),
                    "rules": rules,
                    "counters": None,
                }
            yield injector
        finally:
            with run.undo("truth") as step:
                if run.manifest["injector"]:
                    run.manifest["injector"]["counters"] = status()
                    step.detail = injector.close()
                else:
                    step.skip(f"{NAME} was not set up")
            with run.undo("unload") as step:
                if kernel.loaded(NAME):
                    _unload()
                else:
                    step.skip(f"{NAME} is not loaded")


def _short(rule: dict[str, str]) -> str:
    """A rule in one line; a table of delays would fill a screen."""
    words = (f"{name}={text}" for name, text in rule.items())
    return " ".join(word if len(word) < 60 else f"{word[:57]}..." for word in words)


def _make(rules: list[dict[str, str]]) -> None:
    """A folder of configfs for each rule."""
    for number, rule in enumerate(rules):
        folder(number).mkdir()
        for name, text in rule.items():
            _set(folder(number) / name, text)


def _unload() -> None:
    """Remove what _make() made, and the module; its folders keep it loaded."""
    for made in sorted(RULES.glob("rule*")):
        made.rmdir()
    tool(["rmmod", NAME])


@contextmanager
def armed(run: Run, count: int) -> Iterator[None]:
    """Delays happen inside, and nowhere else."""
    try:
        with run.step("arm"), kernel.explained(NAME):
            # The first match wins, so the first is armed last: none acts alone.
            for number in reversed(range(count)):
                _set(folder(number) / "enabled", "1")
        yield
    finally:
        with run.undo("disarm"):
            for number in range(count):
                _set(folder(number) / "enabled", "0")


def _set(path: Path, text: str) -> None:
    try:
        path.write_text(f"{text}\n")
    except OSError as error:
        raise StepError(f"{path}: {text[:60]}: {error.strerror}") from None
