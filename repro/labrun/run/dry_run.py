# SPDX-License-Identifier: GPL-2.0-only
"""dry_run: print the commands that a run would execute."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path

from labrun.injectors import registry
from labrun.injectors.interface import Injector
from labrun.run import tracer, tracing_command
from labrun.scenario import kinds
from labrun.scenario.keys import AnyWorkload, Scenario
from labrun.setup import cgroups, filesystem, loop, memory, tuning
from labrun.setup.disk import Disk, Disks
from labrun.workloads import clients, commands

Command = list[str]


def show(found: Scenario, options: argparse.Namespace, built: Path) -> None:
    """Print the commands in order, as typed in a shell."""
    disks = Disks(
        _named(options.disk or "DISK"), _named(options.journal_disk or "JOURNAL_DISK")
    )
    injector_class = registry.chosen(found, options.injector)
    injector = injector_class(found, disks, built, options.allow_bare_metal)
    if options.wipe:
        print(shlex.join(["wipefs", "--all", disks.scratch.path]))
    for command in [
        *injector.stack_commands(),
        *_file_system(found, injector),
        *injector.load_commands(),
        *_programs(found, options, built),
    ]:
        print(shlex.join(command))


def _named(path: str) -> Disk:
    """Return a disk of which only the path is known."""
    return Disk(path, Path(path).name, "", 0)


def _file_system(found: Scenario, injector: Injector) -> Iterator[Command]:
    disks = injector.carriers()
    carrier = disks.scratch.path
    if found.filesystem.loop:
        yield loop.LOAD
        yield loop.attach_argv(carrier)
        carrier = "/dev/loop0"
    for key, value in found.queue.items():
        path = str(tuning.queue_path(Path(carrier).name, key))
        yield ["sh", "-c", f"echo {shlex.quote(str(value))} >{path}"]
    yield from memory.swap_argvs(found.memory, carrier)
    assert disks.journal is not None
    yield from filesystem.mkfs_argvs(found.filesystem, carrier, disks.journal.path)
    yield filesystem.mount_argv(found.filesystem, carrier, "MOUNTPOINT")
    yield from (["sysctl", f"{key}={value}"] for key, value in found.sysctl.items())
    yield from memory.limit_commands(found.memory)
    yield from cgroups.commands(found.cgroup, carrier)


def _programs(
    found: Scenario, options: argparse.Namespace, built: Path
) -> Iterator[Command]:
    out = options.out or Path("RUN")
    for engine in tracer.CHOICES[options.engine]:
        output = out / "events" / f"{engine}.jsonl"
        row = tracer.ENGINES[engine]
        yield tracing_command.argv(built, found, row, output)
    duration_s = options.duration_s or found.duration_s
    place = clients.Place(built, _folder_of, lambda _: None, duration_s)
    for index, work in enumerate(found.workload):
        if isinstance(work, kinds.Command):
            yield commands.argv(work, out, place, work.command)
        else:
            records = out / clients.record_stem(index, work)
            yield clients.argv(place, work, found.seed + index, records)


def _folder_of(work: AnyWorkload) -> Path:
    disk = "TMPFS" if clients.on_tmpfs(work) else "MOUNTPOINT"
    return Path(disk, filesystem.FOLDER)
