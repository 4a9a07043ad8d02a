# SPDX-License-Identifier: GPL-2.0-only
"""scenario_pages: a page for each scenario, from its file and a recorded run."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from website import recorded
from website.file_pages import block
from website.staging import SCENARIO_PAGES as PAGES
from website.staging import SCENARIOS, Stage

INDEX = PAGES / "README.md"
PLACE = PurePosixPath("docs/scenario.md")  # where the texts' links start
TITLE = "Scenarios"
CONTENTS = """# Scenarios

A scenario is a file that makes one kind of stall. `./writestall lab NAME` runs it in a
throwaway VM; docs/scenario-format.md explains the keys. Each page here has the file
and, of a recorded run, the answer and the picture of its slowest call.

| scenario | what happens | recorded on |
| --- | --- | --- |
"""

NO_RUN = "{}: no run is recorded in tests/data; make gold RUN=DIR keeps one"
VARIANTS = "On the same disk, to one table: `make variants SCENARIO={}`"


@dataclass(frozen=True)
class Scenario:
    """A scenario file: its text, its tables, and the recorded run of it."""

    name: str
    text: str
    run: recorded.Run

    @property
    def tables(self) -> dict[str, Any]:
        """The file as TOML."""
        return tomllib.loads(self.text)

    @property
    def reason(self) -> str:
        """The paragraph above the first key: why the stall happens."""
        head = self.text.partition("\nname = ")[0]
        _, _, paragraph = head.partition("\n\n")
        return "\n".join(
            line.removeprefix("#").strip() for line in paragraph.splitlines()
        )


def write(stage: Stage, extra: Path) -> None:
    """Stage the pages, and beside the site the report page of each recorded run."""
    extra.mkdir(parents=True)
    runs = recorded.by_scenario(stage.tree)
    scenarios = [
        Scenario(path.stem, (stage.tree / path).read_text(), _run(path, runs))
        for path in sorted(stage.tracked)
        if path.parent == SCENARIOS and path.suffix == ".toml"
    ]
    with ProcessPoolExecutor() as pool:
        explained = partial(recorded.explained, extra=extra)
        answers = pool.map(explained, (scenario.run for scenario in scenarios))
    for scenario, answer in zip(scenarios, answers, strict=True):
        text = "\n".join(_lines(scenario, answer))
        stage.write(PAGES / f"{scenario.name}.md", stage.resolved(PLACE, text))
    rows = "".join(map(_row, scenarios))
    stage.write(INDEX, stage.resolved(PLACE, CONTENTS + rows))
    stage.made[TITLE] = [INDEX, *(PAGES / f"{one.name}.md" for one in scenarios)]


def _run(path: PurePosixPath, runs: dict[str, recorded.Run]) -> recorded.Run:
    """The run of a scenario's file; raises RuntimeError without one."""
    if path.stem not in runs:
        raise RuntimeError(NO_RUN.format(path))
    return runs[path.stem]


def _row(scenario: Scenario) -> str:
    link = f"[{scenario.name}](/{PAGES}/{scenario.name}.md)"
    return f"| {link} | {scenario.tables['purpose']} | {scenario.run.kernel} |\n"


def _lines(scenario: Scenario, answer: recorded.Answer) -> Iterator[str]:
    """The page, as lines of Markdown."""
    tables = scenario.tables
    yield f"# {scenario.name}\n\n{tables['purpose']}\n"
    yield block(f"make lab SCENARIO={scenario.name}")
    if scenario.reason:
        yield f"## Why it stalls\n\n{_escaped(scenario.reason)}\n"
    if "expect" in tables:
        chain = " → ".join(f"`{name}`" for name in tables["expect"].get("chain", ()))
        yield f"Expected chain: {chain or 'none; no call is to stall'}.\n"
    yield from _variants(tables.get("variant", []), scenario.name)
    yield from _recorded(scenario.run, answer)
    yield f"## The file\n\n`{SCENARIOS}/{scenario.name}.toml`\n"
    yield block(scenario.text, "toml")


def _variants(variants: list[dict[str, Any]], name: str) -> Iterator[str]:
    if variants:
        yield f"## Variants\n\n{VARIANTS.format(name)}\n"
        yield from (f"- **{row['name']}**: {row['purpose']}" for row in variants)
        yield ""


def _recorded(run: recorded.Run, answer: recorded.Answer) -> Iterator[str]:
    yield f"## A recorded run\n\nLinux {run.release}, traced with {run.engine}.\n"
    page = f"../runs/{answer.page}"
    if answer.picture:
        label = f"{run.name}: what each task of the slowest call slept on, over time"
        yield f'<div class="wide"><a href="{page}"><img alt="{label}"'
        yield f' src="../runs/{answer.picture}"></a></div>\n'
    yield f'<p><a href="{page}">The report page of this run</a></p>\n'
    yield f"`./writestall explain` prints of it:\n\n{block(answer.text)}"


def _escaped(text: str) -> str:
    """Text of a comment, with nothing that Markdown would read as markup."""
    for mark in "\\*_<[":
        text = text.replace(mark, f"\\{mark}")
    return text
