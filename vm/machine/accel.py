# SPDX-License-Identifier: GPL-2.0-only
"""accel: this machine's /dev/kvm to the word kvm or tcg, by trying."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from machine import cache, initramfs, qemu
from machine.errors import UserError
from machine.image import Kernel
from machine.recipe import Recipe

KVM = Path("/dev/kvm")
# A kernel and a busybox need about a second under KVM. A host whose KVM cannot
# run them hangs for ever, in the firmware, at full load.
PROBE_LIMIT_S = 20
ALIVE = "writestall probe alive"


@dataclass(frozen=True)
class Choice:
    """The accelerator and, in one line, why."""

    name: str
    reason: str


def _memory_file() -> Path:
    """Where the answer is kept: one file per host kernel and processor."""
    cpu = next(
        (line for line in Path("/proc/cpuinfo").read_text().splitlines()
         if line.startswith("model name")),
        "",
    )  # fmt: skip
    return cache.root() / f"accel-{cache.digest(*platform.uname(), cpu)}.json"


def remembered() -> Choice | None:
    """The choice without trying anything; None when it would take a try."""
    if forced := os.environ.get("ACCEL"):
        if forced not in qemu.ACCEL:
            raise UserError(f"ACCEL={forced}: use {', '.join(qemu.ACCEL)}")
        return Choice(forced, "ACCEL says so")
    if not KVM.exists():
        return Choice("tcg", f"{KVM} does not exist")
    if not os.access(KVM, os.R_OK | os.W_OK):
        return Choice("tcg", f"{KVM} may not be opened: join the group kvm")
    try:
        return Choice(**json.loads(_memory_file().read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _try_kvm(recipe: Recipe, kernel: Kernel) -> Choice:
    """Boot the tiny machine under KVM and see whether it speaks."""
    with tempfile.TemporaryDirectory(prefix="writestall-") as folder:
        console, initrd = Path(folder) / "console", Path(folder) / "initrd"
        job = initramfs.archive({"job/probe": b""})
        initrd.write_bytes(initramfs.build(kernel).read_bytes() + job)
        tiny = qemu.Machine(
            kernel.vmlinuz,
            initrd,
            "kvm",
            cpus=1,
            memory_bytes=512 << 20,
            console=console,
        )
        try:
            run = subprocess.run(
                qemu.command(recipe, tiny),
                timeout=PROBE_LIMIT_S,
                capture_output=True,
                stdin=subprocess.DEVNULL,
                check=False,
            )
            ended = f"QEMU ended with status {run.returncode}"
        except subprocess.TimeoutExpired:
            ended = f"it hung for {PROBE_LIMIT_S} s"
        if console.exists() and ALIVE in console.read_text(errors="replace"):
            return Choice("kvm", "a tiny kernel ran under KVM")
    return Choice("tcg", f"a tiny kernel did not run under KVM: {ended}")


def choose(recipe: Recipe, kernel: Kernel) -> Choice:
    """kvm or tcg, from $ACCEL, memory, or a try that is then remembered."""
    known = remembered()
    if known:
        return known
    choice = _try_kvm(recipe, kernel)
    file = _memory_file()
    file.write_text(json.dumps({"name": choice.name, "reason": choice.reason}))
    return choice


def counting(recipe: Recipe, kernel: Kernel, name: str) -> str:
    """The accelerator `name` instead of emulation by the host's clock, which holds two
    times against each other only on a quiet host; $ACCEL overrules it."""
    choice = choose(recipe, kernel)
    told = os.environ.get("ACCEL")  # empty where make had none to hand on
    return name if choice.name == "tcg" and not told else choice.name
