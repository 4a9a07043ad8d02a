# SPDX-License-Identifier: GPL-2.0-only
"""bench_injector: compare biodelay with dm-delay and scsi_debug in one machine.

A delay's error is the latency of a write, less the delay asked for, less the median
latency of the same disk without a delay. A Claim bounds it.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from driver import artefacts, pages, settings
from driver.machines import OUT, PREPARING, Records, machine_command, prepare
from driver.progress import Progress, Stage
from writestall_base import files
from writestall_base.command_line import whole
from writestall_base.units import short

BENCH = "tests/kmod/bench"
STAGES = (
    *PREPARING,
    Stage("bench", "its console is in the folder of the results"),
)
EMPTY_PROBE = artefacts.Part(
    "empty-probe",
    f"{BENCH}/empty_probe",
    "make -s KDIR=/lib/modules/{release}/build && cp empty_probe.ko ../result",
)
LIMIT_S = 1800
SHARES = (0.5, 0.99)
OURS, THEIRS = "biodelay defer", "dm-delay"
COARSE_NS = 10_000_000  # from here on a jiffy is no longer most of an error
TIMES_BETTER = 5
# Of the unloaded IOPS, what must be left.
FLOORS = {"disarmed": 0.98, "armed, nothing matches": 0.95}
# Of one CPU, what a heartbeat a second may take.
MOST_OF_A_CPU = 0.0001
UNLOADED, TRAP = "unloaded", "empty kprobe"


@dataclass(frozen=True)
class Claim:
    """One thing that was promised, and whether it was so this time."""

    text: str
    met: bool

    def __str__(self) -> str:
        return f"- {'met' if self.met else '**not met**'}: {self.text}"


@dataclass(frozen=True)
class Error:
    """An injector at one delay; latencies and errors at SHARES, ns."""

    injector: str
    delay_ns: int
    writes: int
    latency_ns: tuple[int, ...]
    error_ns: tuple[int, ...]


def quantile(values: Sequence[int], share: float) -> int:
    """The smallest value that so large a share of them does not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]


def errors(arms: Iterable[dict[str, Any]]) -> list[Error]:
    arms = list(arms)
    nothing = {
        arm["injector"]: quantile(arm["latencies_ns"], 0.5)
        for arm in arms
        if not arm["delay_ns"]
    }
    found = []
    for arm in arms:
        took = tuple(quantile(arm["latencies_ns"], share) for share in SHARES)
        asked = arm["delay_ns"] + nothing[arm["injector"]]
        over = tuple(ns - asked for ns in took)
        count = len(arm["latencies_ns"])
        found.append(Error(arm["injector"], arm["delay_ns"], count, took, over))
    return found


def accuracy_claims(found: Iterable[Error]) -> Iterator[Claim]:
    """That ours is never worse than the other's, and how much better it is."""
    by = {(one.injector, one.delay_ns): one for one in found if one.delay_ns}
    for (injector, delay_ns), other in by.items():
        if injector != THEIRS:
            continue
        times = TIMES_BETTER if delay_ns < COARSE_NS else 1
        bound = f"at least {times} times better" if times > 1 else "never worse"
        for i, share in enumerate(SHARES):
            ours = abs(by[OURS, delay_ns].error_ns[i])
            theirs = abs(other.error_ns[i])
            yield Claim(
                f"{short(delay_ns)}, p{share * 100:g}: error of {OURS}"
                f" {short(ours)}, of {THEIRS} {short(theirs)}; {bound}",
                ours * times <= theirs,
            )


def shares(rounds: Sequence[dict[str, float]], of: str) -> dict[str, float]:
    """Median over the rounds of each arm's IOPS by those of one arm in that round."""
    return {
        name: statistics.median(one[name] / one[of] for one in rounds)
        for name in rounds[0]
    }


def cost_claims(rounds: Sequence[dict[str, float]]) -> Iterator[Claim]:
    """That a disk is left with most of its IOPS."""
    left = shares(rounds, UNLOADED)
    for name, floor in FLOORS.items():
        yield Claim(
            f"{name}: {left[name]:.3f} of the unloaded IOPS, at least {floor}",
            left[name] >= floor,
        )


def heartbeat_claim(attribute_writes_ns: dict[str, float]) -> Claim:
    """That a heartbeat a second takes next to nothing, as it does not run the guard."""
    beat_ns, device_ns = (attribute_writes_ns[x] for x in ("heartbeat_ms", "device"))
    share = beat_ns / 1e9
    return Claim(
        f"a heartbeat takes {short(beat_ns)} of a CPU,"
        f" which is {beat_ns / device_ns:.2f} of a write of `device`;"
        f" one a second takes {share:.5%} of a CPU, at most {MOST_OF_A_CPU:.2%}",
        share <= MOST_OF_A_CPU,
    )


def _accuracy_rows(found: Sequence[Error]) -> Iterator[list[str]]:
    names = list(dict.fromkeys(one.injector for one in found))
    by = {(one.delay_ns, one.injector): one for one in found}
    for delay_ns in sorted({one.delay_ns for one in found}):
        for name in names:
            one = by.get((delay_ns, name))
            delay = short(delay_ns) if delay_ns else "none"
            if one is None:
                yield [delay, name, "not supported", "", "", "", ""]
                continue
            over = map(short, one.error_ns) if delay_ns else ("", "")
            took = map(short, one.latency_ns)
            yield [delay, name, str(one.writes), *took, *over]


def _cost_rows(rounds: Sequence[dict[str, float]]) -> Iterator[list[str]]:
    unloaded, trap = shares(rounds, UNLOADED), shares(rounds, TRAP)
    for name in rounds[0]:
        of = [one[name] / one[UNLOADED] for one in rounds]
        iops = statistics.median(one[name] for one in rounds)
        span = f"{min(of):.3f} to {max(of):.3f}"
        yield [name, f"{iops:.0f}", f"{unloaded[name]:.3f}", span, f"{trap[name]:.3f}"]


def claims(result: dict[str, Any]) -> list[Claim]:
    """Everything that is promised."""
    found = errors(result["accuracy"])
    return [
        *accuracy_claims(found),
        *cost_claims(result["cost"]),
        heartbeat_claim(result["attribute_writes_ns"]),
    ]


def page(result: dict[str, Any], machine: dict[str, Any]) -> str:
    """A section for one kernel: where it was measured, both tables, the verdicts."""
    found = errors(result["accuracy"])
    columns = "delay|injector|writes|p50|p99|error at p50|error at p99".split("|")
    heads = "setup|IOPS|of unloaded|min to max|of the empty kprobe"
    return "\n".join(
        [
            f"## Linux {result['kernel']}",
            f"{result['date']}, {machine['accel']} ({machine['accel_reason']}), QEMU"
            f" {machine['qemu']}; {result['rounds']} rounds, each measurement once per"
            " round.",
            "",
            pages.table(columns, _accuracy_rows(found)),
            pages.table(heads.split("|"), _cost_rows(result["cost"])),
            *map(str, claims(result)),
            "",
        ]
    )


def arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--rounds", type=whole(), default=5, metavar="N", help="of each arm (5)")
    settings.arguments(parser)


def main(args: argparse.Namespace) -> int:
    """Measure and print the page; 1 when a bound is not met."""
    shared = settings.read(args)
    progress = Progress(STAGES, shared.verbose)
    folder = shared.out / "bench-injector" / shared.kernel
    folder.mkdir(parents=True, exist_ok=True)
    found, machine = folder / "result.json", folder / "machine.json"
    prepare(progress, shared)
    # It waits for no disk of the host: idle time may be skipped.
    shared = shared.measuring("icount-warp")
    with progress.stage() as log:
        built = str(artefacts.build(shared.kernel, (EMPTY_PROBE,)))
        records = Records(folder / "console.log", machine, LIMIT_S)
        inside = ["python3", f"{BENCH}/run.py", "--build", "/mnt/build"]
        inside += ["--out", f"{OUT}/{found.name}", "--rounds", str(args.rounds)]
        log.run(machine_command(shared, folder, built, records, inside))
        log.note = str(folder)
    result = json.loads(files.content(found))
    text = page(result, json.loads(files.content(machine)))
    files.save_inside(folder, "page.md", text.encode())
    print(text)
    return int(not all(claim.met for claim in claims(result)))
