# SPDX-License-Identifier: GPL-2.0-only
"""recorded: find the recorded runs of the tree, and explain one for its page."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from website import slowest
from writestall.cli.main import main
from writestall.events import stored_run

# Folders of recorded runs; of a scenario the first is shown.
HOMES = ("analysis/writestall", "tests/data/runs", "tests/data/scenarios")
MANIFEST = "manifest.json"
# What the engines are called; bpftrace recorded runs of before.
ENGINES = {"stap": "SystemTap", "core": "compiled tracer", "bpftrace": "bpftrace"}


@dataclass(frozen=True)
class Run:
    """A recorded run."""

    path: Path
    name: str  # of the scenario
    release: str  # of the kernel
    engine: str

    @property
    def kernel(self) -> str:
        """The release without Debian's part."""
        return self.release.partition("+")[0]


@dataclass(frozen=True)
class Answer:
    """The answer to a run as text, and the names of its page and picture."""

    text: str
    page: str
    picture: str | None


def by_scenario(tree: Path) -> dict[str, Run]:
    """A recorded run of each scenario, by its name."""
    found: dict[str, Run] = {}
    for home in HOMES:
        for manifest in sorted((tree / home).glob(f"*/{MANIFEST}"), reverse=True):
            run = _run(manifest)
            found.setdefault(run.name, run)
    return found


def _run(manifest: Path) -> Run:
    recorded: dict[str, Any] = json.loads(manifest.read_text())
    events = sorted((manifest.parent / "events").iterdir())
    engine = ENGINES[events[0].name.partition(".")[0]]
    return Run(
        manifest.parent, recorded["scenario"]["name"], recorded["kernel"], engine
    )


def explained(run: Run, extra: Path) -> Answer:
    """Explain a run; leave its report page and picture in `extra`."""
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name, run.name)
        stored_run.unpack(run.path, copy)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            status = main(["explain", str(copy), "--top", "1", "--report"])
        if status:
            raise RuntimeError(f"{run.path}: explain ended with status {status}")
        page = extra / f"{run.name}.html"
        shutil.copy(copy / "report.html", page)
    drawn = slowest.picture(page.read_text("utf-8"))
    if drawn:
        page.with_suffix(".svg").write_text(drawn)
    return Answer(said.getvalue(), page.name, f"{run.name}.svg" if drawn else None)
