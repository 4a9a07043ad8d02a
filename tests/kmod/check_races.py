# SPDX-License-Identifier: GPL-2.0-only
"""check_races: let two writers write each attribute of a rule at once.

Arguments: the rule's folder and two disks. Each attribute gets two valid values, from a
writer each, many times; the result must be one of them, complete, and no write may be
refused.
"""

import multiprocessing
import sys
from pathlib import Path

RULE, DISK, OTHER_DISK = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
TIMES = 25
FORK = multiprocessing.get_context("fork")
VALUES = {
    "device": (DISK, OTHER_DISK),
    "force": (DISK, OTHER_DISK),
    "submitter": ("jbd2/*", "kworker/*"),
    "delay": ("table 0:1 1000000000:9", "table 0:1 500000000:1000 1000000000:2000"),
    "series": ("0 0:1 1000000000:9 5", "0 0:1 1000000000:2"),
    "mode": ("defer", "spin"),
    "kind": ("user", "writeback"),
    "ops": ("read", "write,flush,discard"),
    "flags_any": ("SYNC", "META,PRIO,FUA"),
    "flags_none": ("PREFLUSH", "FUA,RAHEAD"),
    "sectors": ("0-99", "1000000-2000000"),
    "bytes": ("512-1024", "4096-1048576"),
    "burst": ("1 2", "300000 600000"),
    "max_delay_us": ("1000", "2000000"),
    "ttl_ms": ("0", "4294967295"),
    "heartbeat_ms": ("0", "4294967295"),
    "enabled": ("0", "1"),
}
NUMBER = ("11", "22")


def write(name: str, value: str) -> None:
    """Write; a refusal ends this process, and with it the test."""
    for _ in range(TIMES):
        (RULE / name).write_text(f"{value}\n")


def alone(name: str, value: str) -> str:
    """What is read after a value was written without a second writer."""
    (RULE / name).write_text(f"{value}\n")
    return (RULE / name).read_text()


def race(name: str) -> None:
    values = VALUES.get(name, NUMBER)
    before = (RULE / name).read_text().strip()
    possible = {alone(name, value) for value in values}
    assert len(possible) == len(values), f"{name}: {possible} from {values}"
    writers = [FORK.Process(target=write, args=(name, v)) for v in values]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert not writer.exitcode, f"{name}: a writer was refused"
    left = (RULE / name).read_text()
    assert left in possible, f"{name} became {left!r}, not one of {possible}"
    if before and name != "device":
        alone(name, before)


def main() -> None:
    names = sorted(entry.name for entry in RULE.iterdir())
    for name in names:
        race(name)
    print(f"{len(names)} attributes raced for")


main()
