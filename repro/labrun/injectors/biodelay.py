# SPDX-License-Identifier: GPL-2.0-only
"""biodelay: configure biodelay.ko from a scenario's rules and save its record.

The only module that uses biodelay's files (kmod/README.md).
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from labrun.injectors.interface import Injector
from labrun.scenario.delays import MAX_BYTES
from labrun.scenario.keys import Scenario
from labrun.scenario.modes import on_kernel
from labrun.scenario.rule import attributes
from labrun.setup import kernel
from writestall_base.errors import StepError
from writestall_base.process import tool
from writestall_base.steps import Run

NAME = "biodelay"
MODULE = "biodelay.ko"
VERSION = Path("/sys/module/biodelay/version")
CONFIGFS = Path("/sys/kernel/config")
RULES = CONFIGFS / "biodelay"
DEBUGFS = Path("/sys/kernel/debug")
STATUS = DEBUGFS / "biodelay/status"
RECORD = DEBUGFS / "biodelay/record"
TRUTH = "truth.jsonl"
READ_BYTES = 1 << 16
SEGMENT = re.compile(r"\d+(?: \d+:\d+)*(?= |$)")


def folder(number: int) -> Path:
    """Return a rule's folder in configfs."""
    return RULES / f"rule{number}"


def rules(scenario: Scenario, disk: str, journal: str | None) -> list[dict[str, str]]:
    """Return the attributes of each rule; the first match wins.

    With a limit of memory, the run's own swap is on the scratch disk, and the module
    delays no disk with swap unless it is forced to (kmod/README.md).
    """
    names, release = {"scratch": disk, "journal": journal or ""}, os.uname().release
    forced = {"force": disk} if scenario.memory else {}
    return [
        (forced if rule.disk == "scratch" else {})
        | attributes(
            on_kernel(rule, release), number, names[rule.disk], scenario.seed + number
        )
        for number, rule in enumerate(scenario.inject)
    ]


class Record:
    """Copies the module's record to truth.jsonl."""

    def __init__(self, truth: BinaryIO) -> None:
        self._truth = truth
        self._records = 0

    def drain(self) -> None:
        """Append the record so far to truth.jsonl."""
        with RECORD.open("rb", buffering=0) as record:
            while lines := record.read(READ_BYTES):
                # Whole lines, whose names hold the bytes that tasks gave them.
                self._truth.write(lines.decode("utf-8", "replace").encode())
                self._records += lines.count(b"\n")

    def close(self) -> str:
        """Append the last line; raise StepError if records were lost."""
        self.drain()
        lost = int(status()["records_lost"])
        line = {"ev": "end", "records": self._records, "lost": lost}
        self._truth.write(json.dumps(line).encode() + b"\n")
        if lost:
            raise StepError(f"biodelay lost {lost} records of {self._records + lost}")
        return f"{self._records} bios delayed"


class Biodelay(Injector):
    """Loads biodelay with the scenario's rules."""

    name = NAME
    module = MODULE
    tools = ("insmod", "rmmod")
    _record: Record

    @staticmethod
    def problems() -> Iterator[str]:
        if kernel.loaded(NAME):
            yield f"{NAME} is already loaded; rmmod {NAME}"
        if not DEBUGFS.is_mount():
            yield f"debugfs is not mounted; mount -t debugfs debugfs {DEBUGFS}"
        if not CONFIGFS.is_mount():
            yield (
                "configfs is not mounted; modprobe configfs and"
                f" mount -t configfs configfs {CONFIGFS}"
            )

    def rules(self) -> list[dict[str, str]]:
        """Return the attributes of each rule; the first match wins."""
        journal = self.disks.journal.name if self.disks.journal else None
        return rules(self.scenario, self.disks.scratch.name, journal)

    def load_commands(self) -> list[list[str]]:
        commands = [self._insmod()]
        for number, rule in enumerate(self.rules()):
            commands.append(["mkdir", str(folder(number))])
            commands += [
                ["sh", "-c", f"echo {shlex.quote(piece)} >{folder(number) / key}"]
                for key, text in rule.items()
                for piece in pieces(text)
            ]
        return commands + [
            ["sh", "-c", f"echo 1 >{folder(number) / 'enabled'}"]
            for number in self._from_last()
        ]

    def _from_last(self) -> Iterable[int]:
        """Arm the first rule last: the first match wins, so none acts alone."""
        return reversed(range(len(self.scenario.inject)))

    def _insmod(self) -> list[str]:
        # The rules are folders in configfs.
        parameters = ["allow_bare_metal=1"] if self.bare_metal else []
        return ["insmod", str(self.built / MODULE), *parameters]

    @contextmanager
    def loaded(self, run: Run) -> Iterator[None]:
        """Load it; unload it at the end and keep its record."""
        if kernel.loaded(NAME):
            raise StepError(f"{NAME} is already loaded: rmmod {NAME}")
        rules = self.rules()
        with (run.folder / TRUTH).open("wb", buffering=0) as truth:
            self._record = Record(truth)
            try:
                with run.step("inject", "; ".join(map(_short, rules))):
                    with kernel.explained(NAME):
                        tool(self._insmod())
                        _make(rules)
                    run.manifest["injector"] = {
                        "name": NAME,
                        "version": VERSION.read_text().strip(),
                        "rules": rules,
                        "record": TRUTH,
                        "counters": None,
                    }
                yield
            finally:
                with run.undo("truth") as step:
                    if run.manifest["injector"]:
                        run.manifest["injector"]["counters"] = status()
                        step.detail = self._record.close()
                    else:
                        step.skip(f"{NAME} was not set up")
                with run.undo("unload") as step:
                    if kernel.loaded(NAME):
                        _unload()
                    else:
                        step.skip(f"{NAME} is not loaded")

    @contextmanager
    def armed(self, run: Run) -> Iterator[None]:
        try:
            with run.step("arm"), kernel.explained(NAME):
                for number in self._from_last():
                    _set(folder(number) / "enabled", "1")
            yield
        finally:
            with run.undo("disarm"):
                for number in range(len(self.scenario.inject)):
                    _set(folder(number) / "enabled", "0")

    def drain(self) -> None:
        self._record.drain()


def status() -> dict[str, int | str]:
    """Parse the `key value` lines of the status file."""
    found: dict[str, int | str] = {}
    for line in STATUS.read_text().splitlines():
        name, _, value = line.partition(" ")
        found[name] = int(value) if value.strip().isdigit() else value.strip()
    return found


def pieces(text: str) -> Iterator[str]:
    """Split a series that is longer than an attribute's file, before its times.

    Any other text is one piece. The kernel keeps what is before a piece's first time.
    """
    if len(text) <= MAX_BYTES:
        yield text
        return
    piece = ""
    for segment in SEGMENT.findall(text):
        if len(piece) + len(segment) >= MAX_BYTES:
            yield piece
            piece = ""
        piece = f"{piece} {segment}".strip()
    yield piece


def _short(rule: dict[str, str]) -> str:
    """Return a rule in one line, with long tables of delays cut."""
    words = (f"{name}={text}" for name, text in rule.items())
    return " ".join(word if len(word) < 60 else f"{word[:57]}..." for word in words)


def _make(rules: list[dict[str, str]]) -> None:
    for number, rule in enumerate(rules):
        folder(number).mkdir()
        for name, text in rule.items():
            for piece in pieces(text):
                _set(folder(number) / name, piece)


def _unload() -> None:
    """Remove the folders in configfs, which pin the module, and unload it."""
    for made in sorted(RULES.glob("rule*")):
        made.rmdir()
    tool(["rmmod", NAME])


def _set(path: Path, text: str) -> None:
    try:
        path.write_text(f"{text}\n")
    except OSError as error:
        raise StepError(f"{path}: {text[:60]}: {error.strerror}") from None
