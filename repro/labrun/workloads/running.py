# SPDX-License-Identifier: GPL-2.0-only
"""running: run the programs of a scenario until they end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack

from labrun.scenario.keys import Scenario
from labrun.scenario.kinds import Command
from labrun.workloads.clients import Place, Writer, argv, record_stem
from labrun.workloads.commands import Program
from writestall_base import process
from writestall_base.steps import Run

TICK_S = 1.0


def _start(run: Run, scenario: Scenario, place: Place, index: int) -> Writer:
    """Start one of the workloads."""
    workload = scenario.workload[index]
    if isinstance(workload, Command):
        return Program(run, workload, place, index)
    stem = record_stem(index, workload)
    command = argv(place, workload, scenario.seed + index, run.folder / stem)
    return Writer(run, command, stem, workload.name, place.group_of(workload))


def write(
    run: Run,
    scenario: Scenario,
    place: Place,
    servers: Mapping[int, Writer],
    tick: Callable[[], None],
) -> None:
    """Run all writers until they end, beside the servers, which go on; call `tick`
    every second. With servers alone, run for the workload's time.
    """
    writers: dict[int, Writer] = {}
    with run.step("write") as step:
        window = {"start_ns": time.monotonic_ns(), "end_ns": 0}
        run.manifest["window"] = window
        with ExitStack() as stack:
            stack.callback(lambda: window.update(end_ns=time.monotonic_ns()))
            for index in range(len(scenario.workload)):
                if index not in servers:
                    writers[index] = _start(run, scenario, place, index)
                    stack.callback(writers[index].end)
            _note(run, {**servers, **writers})
            _wait(run, list(writers.values()), servers, place.duration_s, tick)
            step.detail = "; ".join(
                f"{writer.name}: {writer.last_line()}" for writer in writers.values()
            )


def _note(run: Run, writers: Mapping[int, Writer]) -> None:
    first, *others = (writers[index].entry for index in sorted(writers))
    run.manifest["writer"] = first
    run.manifest["load"] = others


def _wait(
    run: Run,
    writers: list[Writer],
    servers: Mapping[int, Writer],
    duration_s: int,
    tick: Callable[[], None],
) -> None:
    end_s = time.monotonic() + duration_s
    next_tick_s = 0.0
    while True:
        left = [writer for writer in writers if writer.running()]
        now_s = time.monotonic()
        if not left and (writers or now_s >= end_s):
            return
        run.stop.check()
        for server in servers.values():
            server.running()
        if now_s > end_s:
            for writer in left:
                writer.overdue(now_s - end_s)
        if now_s >= next_tick_s:
            tick()
            next_tick_s = now_s + TICK_S
        time.sleep(process.POLL_S)
