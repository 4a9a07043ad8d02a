# SPDX-License-Identifier: GPL-2.0-only
"""reading: find, read and check a scenario file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from labrun.scenario import schema
from labrun.scenario.contradictions import contradictions
from labrun.scenario.keys import Scenario
from writestall_base import TREE
from writestall_base.errors import UserError

SCENARIOS = TREE / "repro/scenarios"
# Ten times the longest scenario: tomllib needs time quadratic in a dotted key.
MAX_FILE_BYTES = 1 << 14


def find(name_or_path: str) -> Path:
    """Return the file of a scenario by name, or a path ending in .toml."""
    if name_or_path.endswith(".toml"):
        return Path(name_or_path)
    path = SCENARIOS / f"{name_or_path}.toml"
    known = [found.stem for found in sorted(SCENARIOS.glob("*.toml"))]
    if name_or_path not in known:
        hint = schema.did_you_mean(name_or_path, known)
        known_ones = "(see ./writestall scenarios)"
        raise UserError(f"scenario {name_or_path!a} is not known{hint} {known_ones}")
    return path


def load(path: Path) -> tuple[Scenario, dict[str, Any]]:
    """Return the scenario and its TOML table. Raises UserError."""
    text = read(path)
    return parse(text, str(path), path.stem), table_of(text, str(path))


def read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UserError(
            f"{path}: {error.strerror}; see ./writestall scenarios for the known ones"
        ) from None
    if len(content) > MAX_FILE_BYTES:
        raise UserError(
            f"{path}: larger than {MAX_FILE_BYTES} bytes, the limit for a scenario"
        )
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise UserError(
            f"{path}: byte {error.start} is not UTF-8; save it as UTF-8"
        ) from None


def parse(text: str, source: str, stem: str) -> Scenario:
    """Parse TOML text into a scenario; messages name `source`."""
    scenario = schema.build(Scenario, table_of(text, source), source)
    for place, mistake in contradictions(scenario, stem):
        raise UserError(f"{source}: {place}: {mistake}")
    return scenario


def table_of(text: str, source: str) -> dict[str, Any]:
    """Parse TOML text into a table. Raises UserError."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise UserError(f"{source}: nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, impossible dates, huge numbers
        raise UserError(f"{source}: not TOML: {error}") from None
