# SPDX-License-Identifier: GPL-2.0-only
"""overhead: measure tracers in a machine, and record it in docs/overhead.md.

docs/overhead.json has the last measurement of each kind.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterable
from typing import Any

from driver import pages
from driver.machines import FULL, OUT, PREPARING, Records, machine_command, prepare
from driver.progress import Progress, Stage
from driver.settings import Settings
from writestall_base import files

DOCUMENT = "overhead"
LIMIT_S = 7200
# Points of a soak at which the memory is shown, as shares of its duration.
SHOWN = (0.2, 0.4, 0.6, 0.8, 1.0)
# Rates of tests/scripts/bench-tracers.py, and the columns of their shares.
KINDS = {"all": "all writes", "median": "median run", "fastest": "fastest tenth"}
UNMEASURED = "Not measured yet.\n"
Data = dict[str, Any]


def measure(settings: Settings, stage: Stage, command: list[str]) -> Data:
    """Run a guest program; return what it wrote to its --output, and the machine.

    Console and results stay below out/.
    """
    progress = Progress((*PREPARING, stage), settings.verbose)
    _, built = prepare(progress, settings, (), FULL)
    settings = settings.measuring()
    folder = settings.out / f"{time.strftime('%Y%m%d-%H%M%S')}-{stage.name}"
    folder.mkdir(parents=True)
    records = Records(folder / "console.log", folder / "machine.json", LIMIT_S)
    inside = [*command, "--modules", "/mnt/build/stap"]
    inside += ["--output", f"{OUT}/result.json"]
    with progress.stage() as log:
        log.note = str(folder)
        log.run(machine_command(settings, folder, built, records, inside, FULL))
    data: Data = json.loads(files.content(folder / "result.json"))
    machine = json.loads(files.content(records.result))
    about = {name: machine[name] for name in ("accel", "qemu")}
    return data | about | {"date": time.strftime("%Y-%m-%d", time.gmtime())}


def spread(values: Iterable[float]) -> str:
    """The median, lowest and highest."""
    sorted_ = sorted(values)
    middle = statistics.median(sorted_)
    return f"{middle:.3f} ({sorted_[0]:.3f} to {sorted_[-1]:.3f})"


def tracer_row(name: str, result: Data) -> list[str]:
    """A line of the table of shares."""
    what = f"{name} {result['version']}".strip()
    silent, rounds = result.get("silent", 0), len(result["rounds"])
    if "reason" in result or not rounds:
        why = result.get("reason", "it reported no write that was stalled before it")
        return [what, "", f"not measured: {why}", "", ""]
    if silent:
        what += f"; {silent} of {silent + rounds} stalled writes not reported, left out"
    shares = [
        spread(r["traced"][kind] / r["untraced"][kind] for r in result["rounds"])
        for kind in KINDS
    ]
    return [what, "yes" if result["names_file"] else "no", *shares]


def machine_line(data: Data) -> str:
    """Date, kernel and machine."""
    return (
        f"{data['date']}, Linux {data['kernel']}, {data['accel']}, QEMU {data['qemu']}"
    )


def bench_part(data: Data) -> str:
    """The table of shares."""
    head = ["tracer", "names the file", *KINDS.values()]
    tracers = data["tracers"]
    rounds = max(len(result["rounds"]) for result in tracers.values())
    rows = [tracer_row(name, result) for name, result in tracers.items()]
    return f"{machine_line(data)}; {rounds} rounds.\n\n{pages.table(head, rows)}"


def soak_part(soaks: dict[str, Data]) -> str:
    """A table for each engine: each tracer's stalls reported and lost, its memory."""
    held = [f"MiB at {share:.0%}" for share in SHOWN]
    head = ["tracer", "stalls", "reported", "lost", *held, "kernel's part, MiB"]
    text = ""
    for engine, data in soaks.items():
        rows = [
            [f"{script} ({engine})", str(data["stalls"]), str(result["stalls"])]
            + [str(result["lost"])]
            + [mib(at(result["process_kib"], share)) for share in SHOWN]
            + [mib(result["kernel_kib"][-1])]
            for script, result in data["tracers"].items()
        ]
        text += f"{machine_line(data)}; {data['seconds'] / 60:.1f} min.\n\n"
        text += pages.table(head, rows) + "\n"
    return text


def at(samples: list[int], share: float) -> int:
    """The sample at that share of the list."""
    return samples[round((len(samples) - 1) * share)]


def mib(kib: int) -> str:
    return f"{kib / 1024:.1f}"


def parts(data: Data) -> dict[str, str]:
    bench, soaks = data.get("bench"), data.get("soak")
    return {
        "shares": bench_part(bench) if bench else UNMEASURED,
        "endurance": soak_part(soaks) if soaks else UNMEASURED,
    }


def recorded(kind: str) -> Data:
    """The last measurement of a kind."""
    data: Data = pages.load(DOCUMENT).get(kind, {})
    return data


def record(found: Data) -> None:
    """Record measurements by their kinds, and write the document."""
    data = pages.load(DOCUMENT) | found
    pages.store(DOCUMENT, data, parts(data))
