# SPDX-License-Identifier: GPL-2.0-only
"""bench: the injector beside its neighbours in a machine, to tables and verdicts."""

from __future__ import annotations

import json
import os

from driver import artefacts, bench_page, lab
from driver.progress import Progress, Stage, StageError
from driver.project import OUT, accel, cache, recipe

BENCH = "tests/kmod/bench"
STAGES = (
    *lab.PREPARING,
    Stage("bench", "its console is beside the results; V=1 shows everything"),
)
EMPTY_PROBE = artefacts.Part(
    "empty-probe",
    f"{BENCH}/empty_probe",
    "make -s KDIR=/lib/modules/{release}/build && cp empty_probe.ko ../result",
)
LIMIT_S = 1800


def main() -> int:
    """Measure on KERNEL; print the page. 1 when a bound is not met."""
    kernel = recipe.load(os.environ.get("KERNEL")).kernel
    accel.remembered()  # refuses an unknown ACCEL
    progress = Progress(STAGES, cache.root() / "logs")
    folder = OUT / "bench-injector" / kernel
    folder.mkdir(parents=True, exist_ok=True)
    found, machine = folder / "result.json", folder / "machine.json"
    try:
        lab.prepare(progress, kernel)
        # No disk of the host has a part in it: idle time may be jumped over.
        lab.measure_by(kernel, "icount-warp")
        with progress.stage() as log:
            built = artefacts.build(kernel, (EMPTY_PROBE,))
            records = lab.Records(folder / "console.log", machine, LIMIT_S)
            inside = ["python3", f"{BENCH}/run.py", "--build", "/mnt/build"]
            inside += ["--out", f"/mnt/out/{found.name}"]
            inside += ["--rounds", lab.whole("ROUNDS", 5)]
            log.run(lab.machine_command(kernel, folder, str(built), records, inside))
            log.note = str(folder)
    except StageError as failed:
        return failed.status
    result = json.loads(found.read_text())
    page = bench_page.page(result, json.loads(machine.read_text()))
    (folder / "page.md").write_text(page)
    print(page)
    return int(not all(claim.met for claim in bench_page.claims(result)))
