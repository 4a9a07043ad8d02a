#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""keep_run: copy run directories to tests/data/scenarios, records compressed."""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

DATA = Path(__file__).parents[2] / "data"
WHOLE = ("writer*.hlog",)
PACKED = ("truth.jsonl", "throttled.jsonl", "writer*.jsonl", "application/*/*")
ONE_ENGINE = {"6.12": "stap", "7.2": "bpftrace"}  # of two that traced a run


def _engine(run: Path, kernel: str) -> Path:
    """The events to keep: one engine's, so that both are kept over two kernels."""
    found = {path.stem: path for path in (run / "events").glob("*.jsonl")}
    return found.get(ONE_ENGINE.get(kernel, ""), next(iter(found.values())))


def _named(run: Path, patterns: Iterable[str]) -> Iterator[Path]:
    for pattern in patterns:
        yield from run.glob(pattern)


def keep(run: Path) -> Path:
    """Copy what explains a run to tests/data/scenarios; returns where to."""
    manifest = json.loads((run / "manifest.json").read_text())
    if manifest["status"] != "complete":
        sys.exit(f"keep_run: {run}: {manifest['reason']}; keep a complete run")
    kernel = ".".join(manifest["kernel"].split(".")[:2])
    home = DATA / "scenarios" / f"{manifest['scenario']['name']}-{kernel}"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    manifest.get("machine", {}).pop("console", None)  # a place on this host
    (home / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n")
    for path in _named(run, WHOLE):
        shutil.copy(path, home)
    for path in (*_named(run, PACKED), _engine(run, kernel)):
        packed = home / f"{path.relative_to(run)}.gz"
        packed.parent.mkdir(parents=True, exist_ok=True)
        packed.write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    return home


def main() -> None:
    """Keep what was named."""
    parser = argparse.ArgumentParser(prog="keep_run.py", description=__doc__)
    parser.add_argument("run", nargs="+", type=Path, help="a run directory")
    for run in parser.parse_args().run:
        print(keep(run))


if __name__ == "__main__":
    main()
