# SPDX-License-Identifier: GPL-2.0-only
"""test_record: record a machine as a host, and read the run without that machine.

`make test` records a command on the default kernel; --every-kernel also a PostgreSQL
and a busy file system, on each kernel.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lab_runs import analysed
from machine import accel, image, recipe
from machine.run import GUEST_PROJECT
from support import EVERY, KERNELS, ON_DEMAND, tool
from writestall.export.formats import FORMATS

ENGINES = ("core", "stap")
EVERY_CASE = ("command", "path", "pid", "uring", "short", "hidden")
CASES = EVERY_CASE if EVERY else ("command",)
RECORDED = KERNELS if EVERY else [recipe.load().kernel]
LIMIT_S = 1800
# Whose slow disk a case's calls wait for; the rule of the injector delays no other.
ROOTS = {
    **dict.fromkeys(("command", "path", "short", "hidden"), "vdb slow for jbd2"),
    **dict.fromkeys(("pid", "uring"), "vdb slow"),
}
FEWEST = {"command": 2, "path": 4, "pid": 10, "uring": 10, "short": 4, "hidden": 4}


def recorded(
    kernel: str,
    build: Path,
    out: Path,
    cases: tuple[str, ...] = CASES,
    engines: tuple[str, ...] = ENGINES,
) -> None:
    """Record every case in one machine."""
    known = recipe.load(kernel)
    counting = accel.counting(known, image.kernel(known), "icount")
    script = f"{GUEST_PROJECT}/tests/scripts/record_cases.py"
    chosen = [word for name in cases for word in ("--case", name)]
    chosen += [word for name in engines for word in ("--engine", name)]
    packages = ["--packages", "postgresql"] if "pid" in cases else []
    paths = "PYTHONPATH=" + ":".join(
        f"{GUEST_PROJECT}/{name}" for name in ("base", "repro", "tests/scripts")
    )
    done = tool(
        "vm/vm",
        *("run", "-k", kernel, "--accel", counting, "--timeout", str(LIMIT_S)),
        *("--share", f"{build}:/mnt/build:ro", "--share", f"{out}:/mnt/out"),
        *(
            "--excuse",
            r"\[biodelay\]",
            *packages,
            "--",
            "env",
            paths,
            "python3",
            script,
        ),
        *("--modules", "/mnt/build/stap", "--out", "/mnt/out", *chosen),
        limit_s=LIMIT_S + 120,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.mark.parametrize("kernel", RECORDED)
def test_the_chain_comes_out_and_the_root_is_right(
    kernel: str, artefacts: Callable[[str], Path], tmp_path: Path
) -> None:
    recorded(kernel, artefacts(kernel), tmp_path)
    for case in CASES:
        for engine in ENGINES:
            run = tmp_path / f"{case}-{engine}"
            _hold(run, case, engine)
            _assert_a_host(run)
            if ON_DEMAND or engine == ENGINES[0]:  # one shows it
                _assert_exported(run, tmp_path / "exports")
                _assert_redacted(run, tmp_path / f"{run.name}-redacted")


def _hold(run: Path, case: str, engine: str) -> None:
    """At least 95 % of the stalled time comes down to what was delayed."""
    done = analysed("explain", run, "--json", "--report")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)["summary"]
    assert summary["engine"] == engine
    assert summary["stalls"] >= FEWEST[case]
    roots = summary["stall_ns_by_root"]
    right = sum(ns for root, ns in roots.items() if root.startswith(ROOTS[case]))
    assert right >= 0.95 * summary["stall_ns"], roots
    assert (summary["notes"], summary["lost_events"]) == ([], 0)
    assert (run / "report.html").stat().st_size > 10_000


def _assert_a_host(run: Path) -> None:
    manifest = json.loads((run / "manifest.json").read_text())
    assert manifest["status"] == "complete"
    disks = {disk["name"]: disk for disk in manifest["disks"]}
    assert disks["vdb"]["size_bytes"] == 2 << 30
    mounted = {row["mountpoint"]: row for row in manifest["filesystems"]}
    assert mounted["/mnt/lab"]["type"] == "ext4"
    assert manifest["sysctl"]["vm.dirty_expire_centisecs"] == "200"
    files = json.loads((run / "symbols/files.json").read_text())
    for task in manifest["tasks"]:
        row = next(row for row in files if row["path"] == task["exe"])
        assert len(row["build_id"]) == 40
    assert manifest["tasks"]
    assert analysed("check", run).returncode == 3


def _assert_exported(run: Path, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name in FORMATS:
        target = folder / f"{run.name}.{name}"
        done = analysed("export", run, "--to", name, "-o", str(target))
        assert done.returncode == 0, done.stderr
        assert target.exists()


def _assert_redacted(run: Path, target: Path) -> None:
    """The same answer, without the names that are known here."""
    done = analysed("export", run, "--redact", "-o", str(target))
    assert done.returncode == 0, done.stderr
    content = "".join(
        path.read_text() for path in target.rglob("*.json*") if path.is_file()
    )
    for name in ("fio", "postgres", "/mnt", "app.0.0", "pg_wal"):
        assert name not in content
    sums = []
    for place in (run, target):
        explained = analysed("explain", place, "--json")
        summary = json.loads(explained.stdout)["summary"]
        sums.append((summary["stalls"], summary["stall_ns_by_class"]))
    assert sums[0] == sums[1]
