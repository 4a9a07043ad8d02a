# SPDX-License-Identifier: GPL-2.0-only
"""recording: run the stages of a recording in order and undo them in reverse.

The steps, the tracer and the run directory are those of the lab's runs (repro/labrun),
without its scenario, disks and injector.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foreign.unread import Unread
from labrun.run import tracer
from labrun.setup import kernel, staging
from labrun.setup.staging import Copying
from recorder import filesystems, host, targets
from recorder.command import Command
from recorder.engines import Engine
from recorder.guard import Guard
from recorder.process import Process
from recorder.say import Voice
from recorder.tasks import Tasks, of_name
from writestall_base import process
from writestall_base.errors import StepError, StoppedError
from writestall_base.steps import Run, describe
from writestall_base.units import S_NS, many

# SystemTap compiles a module first, on a slow machine for minutes.
ARMED_WITHIN_S = 900
COMPILES = (
    "SystemTap compiles a kernel module first, which takes minutes; --module takes one"
    " that trace/build has made"
)


@dataclass(frozen=True)
class Settings:
    """What is known before the first step."""

    options: argparse.Namespace
    engine: Engine
    guard: Guard
    voice: Voice
    process: Process | None


def carry_out(run: Run, settings: Settings) -> tuple[bool, int | None]:
    """Record; return whether there is an answer, and the status of the COMMAND."""
    words = settings.options.tail
    command = Command(words) if words else None
    run.manifest |= _described(settings.options)
    recorded = False
    try:
        run.create()
        _perform(run, settings, command)
        recorded = True
    except StoppedError as error:
        run.fail(str(error), "cut_off")
    except (StepError, OSError) as error:
        run.fail(describe(error))
    status = _status(run, settings, command)
    if command:
        entry = {"name": words[0], "argv": words, "exit_status": status}
        run.manifest["writer"] = entry
    run.finish()
    return recorded, status


def _status(run: Run, settings: Settings, command: Command | None) -> int | None:
    """Wait for the end of the command; None where none was begun."""
    if command is None or not command.begun:
        return None
    if not command.ended():
        settings.voice.say(f"{command.argv[0]} goes on, no longer recorded")
    return command.status(run.stop)


def _described(options: argparse.Namespace) -> dict[str, Any]:
    """What the manifest says of the host and of what was asked for."""
    for_s = options.for_ns / S_NS if options.for_ns else None
    asked = {"recorded": asked_for(options) | {"for_s": for_s}}
    return asked | of_this_host() | {"tracers": [], "writer": None, "window": None}


def asked_for(options: argparse.Namespace) -> dict[str, Any]:
    """The choice of calls, for the manifest's `recorded`."""
    return {
        "pid": options.pid,
        "comm": options.comm,
        "path": str(options.path.resolve()) if options.path else None,
        "device": options.device,
        "stall_ns": options.stall_ns,
        "profile": options.profile,
    }


def of_this_host() -> dict[str, Any]:
    """What a manifest says of the host."""
    return {
        "kernel": os.uname().release,
        "arch": os.uname().machine,
        "host": host.describe(),
        "disks": host.disks(),
        "filesystems": filesystems.describe(),
        "sysctl": host.writeback(),
        "tasks": [],
        "containers": [],
    }


def _perform(run: Run, settings: Settings, command: Command | None) -> None:
    """Trace until something ends it. Raises StepError or StoppedError after undoing."""
    options = settings.options
    pid = command.pid if command else None
    with ExitStack() as stack:
        enter = stack.enter_context
        copying = enter(staging.staged(run))
        settings.guard.folder(run.folder)
        if command:
            stack.callback(command.give_up)
        kernel.save_symbols(run)
        (run.folder / "symbols").mkdir()
        watched = enter(_tracing(run, settings, pid))
        unread = Unread(settings.voice.say)
        enter(_noting(run, targets.chosen(options, pid), unread))
        enter(_log_saved(run, settings.voice))
        _check_there(settings)
        settings.voice.say(_what_ends_it(options))
        start_ns = time.monotonic_ns()
        if command:
            command.go()
        try:
            _wait(run, settings, command, watched, copying)
        finally:
            window = {"start_ns": start_ns, "end_ns": time.monotonic_ns()}
            run.manifest["window"] = window


@contextmanager
def _log_saved(run: Run, voice: Voice, path: Path = kernel.LOG) -> Iterator[None]:
    """Save the kernel's messages, where they may be read: a container has no kmsg."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except OSError as error:
        voice.say(f"the kernel's log is left out: {path}: {error.strerror}")
        yield
        return
    with kernel.log_saved(run, None):
        yield


def _what_ends_it(options: argparse.Namespace) -> str:
    ends = [f"the end of {options.tail[0]}"] if options.tail else []
    ends += [f"{options.for_ns / S_NS:g} s have passed"] if options.for_ns else []
    return f"recording until {' or '.join([*ends, 'Ctrl-C'])}"


@contextmanager
def _tracing(
    run: Run, settings: Settings, pid: int | None
) -> Iterator[list[tracer.Tracer]]:
    """The tracer, which the guard ends if this process is killed."""
    name, options = settings.engine.name, settings.options

    def argv(engine: tracer.Engine, output: Path) -> list[str]:
        return [*targets.command(options, engine.name, pid), "--output", str(output)]

    if name == "stap" and not options.module:
        settings.voice.say(COMPILES)
    begun = settings.guard.session
    with tracer.tracing(run, (name,), argv, ARMED_WITHIN_S, begun) as watched:
        yield watched


@contextmanager
def _noting(run: Run, chosen: list[int], unread: Unread) -> Iterator[None]:
    """Note the tasks of the events in the manifest."""
    tasks = Tasks(run.folder, chosen, unread=unread.add)
    tasks.start()
    try:
        yield
    finally:
        with run.undo("tasks") as step:
            run.manifest["tasks"] = tasks.end()
            run.manifest["containers"] = tasks.containers()
            step.detail = f"{len(run.manifest['tasks'])} tasks"
            if unread.total:
                step.detail += f", {many(unread.total, 'file')} not read"


def _check_there(settings: Settings) -> None:
    """Refuse a process that is gone; warn of a name that nobody has yet."""
    chosen, comm = settings.process, settings.options.comm
    if chosen and chosen.ended():
        raise StepError(
            f"process {chosen.pid} ended before it was recorded: choose by --comm"
            " what starts later, or record a COMMAND"
        )
    if comm is not None and not of_name(comm):
        settings.voice.say(f"no process is called {comm} now")


def _wait(
    run: Run,
    settings: Settings,
    command: Command | None,
    watched: list[tracer.Tracer],
    copying: Copying,
) -> None:
    """Return when the recording is to end; raise StepError if it cannot go on."""
    options, chosen = settings.options, settings.process
    deadline_s = time.monotonic() + options.for_ns / S_NS if options.for_ns else None
    while not run.stop.requested and not (command and command.ended()):
        if deadline_s is not None and time.monotonic() >= deadline_s:
            return
        if chosen and chosen.ended():
            reason = f"process {chosen.pid} ended"
            settings.voice.say(reason)
            run.fail(reason, "cut_off")
            return
        for each in watched:
            each.check()
        copying.check(options.most_bytes)
        time.sleep(process.POLL_S)
