# SPDX-License-Identifier: GPL-2.0-only
"""public_links: compare the links of a log's answer with those judged by hand."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from writestall.log.links import POSSIBLE, LogAnswer, explain_log
from writestall.log.reading import read_log

JUDGED = Path(__file__).parents[2] / "data" / "links-of-public-reports.toml"


@dataclass
class Score:
    """Links by what they are; each is `report: waiter -> holder, confidence`."""

    right: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    allowed: list[str] = field(default_factory=list)
    false: list[str] = field(default_factory=list)

    @property
    def certain(self) -> list[str]:
        """The false ones that are more than `possible`."""
        return [text for text in self.false if not text.endswith(POSSIBLE)]

    @property
    def share(self) -> float:
        """How many of the links judged right were found."""
        return len(self.right) / max(len(self.right) + len(self.missed), 1)


def judgements() -> list[dict[str, Any]]:
    """The reports with several stacks, in the file's order."""
    table: list[dict[str, Any]] = tomllib.loads(JUDGED.read_text())["report"]
    return table


def joined(rows: list[dict[str, Any]]) -> tuple[LogAnswer, dict[int, str]]:
    """The answer to one report's stacks, and which stack each of its lines is of."""
    lines: list[str] = []
    owner: dict[int, str] = {}
    for row in rows:
        for line in (*row["stack"].splitlines(), "", ""):
            lines.append(line)
            owner[len(lines)] = row["id"]
    return explain_log(read_log(lines)), owner


def links(rows: list[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Waiter, holder and confidence of every link the tool gives."""
    answer, owner = joined(rows)
    for at, link in answer.links.items():
        waiter = answer.tasks[at].task.line
        yield owner[waiter], owner[link.holder.task.line], link.confidence


def score(cases: list[dict[str, Any]]) -> Score:
    """All judged reports together."""
    found = Score()
    for report in judgements():
        name = report["name"]
        rows = [case for case in cases if case["report"] == name]
        right, allowed = report.get("links", {}), report.get("allowed", {})
        given = set()
        for waiter, holder, confidence in links(rows):
            text = f"{name}: {waiter} -> {holder}, {confidence}"
            if holder in right.get(waiter, ()):
                given.add(waiter)
                found.right.append(text)
            elif holder in allowed.get(waiter, ()) and confidence == POSSIBLE:
                found.allowed.append(text)
            else:
                found.false.append(text)
        found.missed += [f"{name}: {w}" for w in right if w not in given]
    return found
