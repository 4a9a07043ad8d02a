# SPDX-License-Identifier: GPL-2.0-only
"""every_step: scenarios that have everything that can be undone, and runs of them."""

import subprocess
from pathlib import Path

TREE = Path(__file__).resolve().parents[3]
DISK, JOURNAL = "/dev/vdb", "/dev/sda"
# Every step that a run can have; steps that the first has, too, are not repeated.
ON_DISK = """
[filesystem]
type = "ext4"
external_journal = true
loop = true

[queue]
nr_requests = 16

[sysctl]
"vm.dirty_writeback_centisecs" = 100
"vm.dirty_expire_centisecs" = 200

[[inject]]
disk = "journal"
submitter = "jbd2/*"
delay_us = 300_000
"""
IN_MEMORY = """
[filesystem]
type = "tmpfs"
loop = true

[memory]
limit_bytes = 4_194_304

[[inject]]
submitter = "kswapd*"
delay_us = 300_000
"""
SCENARIOS = {"on-disk": ON_DISK, "in-memory": IN_MEMORY}
REST = """
purpose = "Every step that a run can have."
duration_s = 3

[kernel]
min = "4.19"

[[workload]]
name = "gc"
write_bytes = 200
interval_us = 1_000

[expect]
chain = []
stalled_writes_min = 0
stall_ms_min = 0
"""


def write_scenario(folder: Path, name: str) -> None:
    """Write the scenario's file into the folder of its runs."""
    text = f'name = "{name}"\n{REST}{SCENARIOS[name]}'
    (folder / f"{name}.toml").write_text(text)


def start(
    out: Path, arguments: list[str], environment: dict[str, str] | None = None
) -> subprocess.Popen[str]:
    """A run of a few seconds that reports its progress."""
    (scenario,) = out.parent.glob("*.toml")
    command = [str(TREE / "repro/run"), str(scenario), "--disk", DISK]
    command += ["--journal-disk", JOURNAL, "--wipe", "--progress", "json"]
    command += ["--out", str(out), *arguments]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
