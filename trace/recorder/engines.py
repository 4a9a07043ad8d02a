# SPDX-License-Identifier: GPL-2.0-only
"""engines: choose the tracing engine that works here, and say why not the others."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from launcher import core
from launcher.errors import TraceError
from recorder.files import ROOT, matched, number
from writestall_base.errors import UserError

AUTO = "auto"
# linux/capability.h
SYS_MODULE = 16
IN_A_CONTAINER = "run it on the host, or in a privileged container"


@dataclass(frozen=True)
class Engine:
    """An engine: its name, which is the launcher's, too, and what it lacks here.

    `lacks` yields what is missing, each with its remedy; `cost` is why it comes where
    it does in the order.
    """

    name: str
    lacks: Callable[[argparse.Namespace, Path], Iterator[str]]
    cost: str


def _may_load_modules(root: Path) -> bool:
    """Whether this process has CAP_SYS_MODULE (proc(5), CapEff)."""
    mask = matched(root / "proc/self/status", r"^CapEff:\s*([0-9a-f]+)$")
    return bool(int(mask or "0", 16) >> SYS_MODULE & 1)


def _lockdown(root: Path) -> str:
    """kernel_lockdown(7): none, integrity or confidentiality."""
    return matched(root / "sys/kernel/security/lockdown", r"\[(\w+)\]") or "none"


def _core_lacks(options: argparse.Namespace, root: Path) -> Iterator[str]:
    try:
        for missing in core.missing(core.program()):
            yield missing.partition("; use --engine")[0]
    except TraceError as error:
        yield str(error)


def _stap_lacks(options: argparse.Namespace, root: Path) -> Iterator[str]:
    if options.profile:
        yield "it does not do --profile"
    if not shutil.which("staprun"):
        yield "staprun is missing: install SystemTap (apt install systemtap)"
    if not _may_load_modules(root):
        yield f"CAP_SYS_MODULE is missing: {IN_A_CONTAINER}"
    if number(root / "proc/sys/kernel/modules_disabled"):
        yield "kernel.modules_disabled forbids modules until the next boot"
    if options.module:
        return  # it may have been signed
    # kernel/module/signing.c, module_sig_check()
    if (lockdown := _lockdown(root)) != "none":
        yield (
            f"lockdown={lockdown} refuses modules that are not signed: sign one that"
            " trace/build made, and name it with --module"
        )
    release = os.uname().release
    if not shutil.which("stap") or not shutil.which("gcc"):
        yield (
            "stap or gcc is missing: install systemtap and gcc, or name a module that"
            " trace/build made elsewhere with --module"
        )
    elif not (root / f"lib/modules/{release}/build").exists():
        yield (
            f"there are no headers of {release}: install linux-headers-{release}, or"
            " name a module that trace/build made elsewhere with --module"
        )


# In the order of --engine auto.
ENGINES = (
    Engine("core", _core_lacks, "it shows the same events"),
    Engine("stap", _stap_lacks, "it compiles and loads a kernel module"),
)


def choose(options: argparse.Namespace, root: Path = ROOT) -> tuple[Engine, str]:
    """Return the engine, and the line that says which and why not another.

    Raises UserError where none works, or not the one that was asked for.
    """
    if options.module and options.engine not in (AUTO, "stap"):
        raise UserError("--module belongs to --engine stap")
    order = list(ENGINES)
    if options.module:
        order.reverse()  # --module implies SystemTap
    lacking = {one.name: next(one.lacks(options, root), "") for one in order}
    wanted = [one for one in order if options.engine in (AUTO, one.name)]
    good = [one for one in wanted if not lacking[one.name]]
    if not good:
        reasons = "; ".join(f"{one.name}: {lacking[one.name]}" for one in wanted)
        start = "no engine works here:" if options.engine == AUTO else "--engine"
        raise UserError(f"{start} {reasons}")
    chosen = good[0]
    why = [
        f"{one.name} not taken: {_why_not(one, options, lacking[one.name])}"
        for one in order
        if one is not chosen
    ]
    return chosen, f"engine {chosen.name}; {'; '.join(why)}"


def _why_not(engine: Engine, options: argparse.Namespace, lack: str) -> str:
    if lack:
        return lack
    if options.engine != AUTO:
        return f"--engine {options.engine}"
    return "a --module was given" if options.module else engine.cost
