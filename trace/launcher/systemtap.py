# SPDX-License-Identifier: GPL-2.0-only
"""systemtap: compile a SystemTap script, run it and copy its events."""

from __future__ import annotations

import argparse
import errno
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from launcher import printing
from launcher.errors import TraceError
from launcher.options import variables
from launcher.plain_text import Sink
from writestall_base import TREE

FOLDER = TREE / "stap"
SCRIPTS = sorted(path.stem for path in FOLDER.glob("*.stp"))
BUILD = TREE / "trace/build"
BUFFER_MIB = "4"  # per processor, of printed lines; the runtime's default is 16

# The functions that a script probes, by any one of their names
# (tapset/pagelocks.stp).
SYMBOLS = Path("/proc/kallsyms")
NEEDS = {
    "page_locks": ("folio_wait_bit_common", "wait_on_page_bit_common", "__lock_page")
}
# The drill-down's module registers a kretprobe for each name that is written to its
# parameter (tapset/inside.stp). A name with `?` behind it may be refused.
PARAMETERS = Path("/sys/module/drilldown/parameters")
LOADED_WITHIN_S = 60
REASONS = {
    errno.ENOENT: "the kernel has no such function; it may be inlined",
    errno.EADDRNOTAVAIL: "the kernel has several functions of that name",
    errno.EINVAL: "the kernel forbids a probe there",
    errno.ENOSPC: "too many functions",
}


def _wait_loaded(alive: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + LOADED_WITHIN_S
    while not (PARAMETERS / "ready").exists():
        if not alive():
            raise TraceError("drilldown was not loaded: see the error above")
        if time.monotonic() > deadline_s:
            raise TraceError(f"drilldown was not loaded within {LOADED_WITHIN_S} s")
        time.sleep(0.02)


def _probe(name: str) -> None:
    try:
        (PARAMETERS / "function").write_text(name.removesuffix("?"))
    except OSError as error:
        if not name.endswith("?"):
            number = error.errno or 0
            why = REASONS.get(number, error.strerror)
            raise TraceError(f"cannot probe {name}: {why}") from error


def arm(functions: Iterable[str], alive: Callable[[], bool]) -> None:
    """Probe the functions, the root first, and let the module begin."""
    _wait_loaded(alive)
    for name in functions:
        _probe(name)
    (PARAMETERS / "ready").write_text("Y")


def check(options: argparse.Namespace) -> None:
    """Refuse, before anything is compiled, what SystemTap cannot run here."""
    name = options.script
    for option in ("series_ms", "calls_mib"):
        if getattr(options, option) is not None:
            raise TraceError(f"--{option.replace('_', '-')} belongs to --engine core")
    if options.arguments and options.module:
        raise TraceError("--arguments is compiled in: leave out --module")
    functions = NEEDS.get(name)
    if not functions:
        return
    with SYMBOLS.open() as lines:
        found = any(line.split()[2] in functions for line in lines)
    if not found:
        raise TraceError(
            f"{name} needs a probe on {' or '.join(functions)}, and this kernel has"
            f" no such function; use stalled_writes, whose stacks show such waits"
        )


def parameters(options: argparse.Namespace) -> list[str]:
    given = variables(options, FOLDER / f"{options.script}.stp")
    # the kernel splits them at blanks (kernel/params.c, next_arg())
    return [
        f'{name}="{value}"' if " " in str(value) else f"{name}={value}"
        for name, value in given.items()
    ]


def module(options: argparse.Namespace, folder: str) -> Path:
    """Return the module given, or compile one in the folder."""
    name = options.script
    if options.module:
        if not options.module.is_file():
            raise TraceError(f"no module {options.module}: make it with trace/build")
        if options.module.stem != name:
            raise TraceError(f"{options.module.name} is not {name}.ko")
        return Path(options.module).resolve()
    print(f"trace: stap compiles {name}", file=sys.stderr, flush=True)
    command = [str(BUILD), name, "-o", folder]
    command += ["--arguments", options.arguments] if options.arguments else []
    if subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
        raise TraceError(f"{name} was not built: see the error above")
    return Path(folder) / f"{name}.ko"


def unload(ko: Path) -> None:
    """Remove a module whose reader is gone, and its probes with it."""
    if Path("/sys/module", ko.stem).exists():
        subprocess.run(["staprun", "-d", ko.stem], capture_output=True, check=False)


def run(ko: Path, words: list[str], functions: list[str], sink: Sink) -> None:
    """Run the module until it has printed `end`.

    `words` are its parameters, `functions` those that it is to probe.
    """

    def started(process: printing.Process) -> None:
        if functions:
            arm(functions, lambda: process.poll() is None)

    def give_up(process: printing.Process) -> None:
        assert process.stdout
        process.stdout.close()
        process.send_signal(signal.SIGINT)
        process.wait()
        unload(ko)

    command = ["staprun", "-b", BUFFER_MIB, str(ko), *words]
    last = printing.run("stap", ko.stem, command, sink, started, give_up)
    unload(ko)  # unless staprun has, whose own helper may fail
    printing.check_ended(ko.stem, last)


def trace(options: argparse.Namespace, sink: Sink) -> None:
    """Compile the script, unless its module is given, and run it."""
    given = parameters(options)
    functions = options.functions.split(",") if options.functions else []
    with tempfile.TemporaryDirectory(prefix="writestall-") as folder:
        run(module(options, folder), given, functions, sink)
