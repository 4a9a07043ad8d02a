# SPDX-License-Identifier: GPL-2.0-only
"""accel: choose kvm or tcg by trying /dev/kvm, and remember the answer."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from machine import architectures, cache, initramfs, qemu
from machine.image import Kernel
from machine.recipe import Recipe
from writestall_base.errors import UserError

KVM = Path("/dev/kvm")
# A kernel and a busybox need about a second under KVM. Where KVM cannot run them,
# the guest hangs in the firmware at full load and never ends.
PROBE_LIMIT_S = 20
ALIVE = "writestall probe alive"


@dataclass(frozen=True)
class Choice:
    """The accelerator and, in one line, why."""

    name: str
    reason: str


def _memory_file() -> Path:
    return cache.root() / f"accel-{cache.host_digest()}.json"


def remembered(forced: str | None = None) -> Choice | None:
    """The choice without trying anything; None when it would take a try."""
    arch = architectures.chosen()
    if not arch.is_host and forced in (None, "kvm"):
        why = f"a guest of {arch.name} on a {platform.machine()} host is emulated"
        if forced:
            raise UserError(f"--accel kvm: {why}")
        return Choice("tcg", why)
    if forced:
        return Choice(forced, "chosen by --accel")
    if not KVM.exists():
        return Choice("tcg", f"{KVM} does not exist")
    if not os.access(KVM, os.R_OK | os.W_OK):
        return Choice("tcg", f"{KVM} may not be opened: join the group kvm")
    try:
        return Choice(**json.loads(_memory_file().read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _try_kvm(recipe: Recipe, kernel: Kernel) -> Choice:
    """Boot a tiny guest under KVM and check that it prints its line."""
    with tempfile.TemporaryDirectory(prefix="writestall-") as folder:
        console = Path(folder) / "console"
        tiny = qemu.Machine(
            kernel.vmlinuz,
            initramfs.build(kernel),
            "kvm",
            cpus=1,
            memory_bytes=512 << 20,
            console=console,
            kernel_options=initramfs.PROBE,
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


def choose(recipe: Recipe, kernel: Kernel, forced: str | None = None) -> Choice:
    """The forced accelerator, else kvm or tcg, remembered or tried and then kept."""
    known = remembered(forced)
    if known:
        return known
    choice = _try_kvm(recipe, kernel)
    _memory_file().write_text(json.dumps(vars(choice)))
    return choice


def counting(
    recipe: Recipe, kernel: Kernel, name: str, forced: str | None = None
) -> str:
    """The accelerator for a measurement: `name` where `choose` would take tcg.

    With tcg the guest's clock is the host's, and a busy host distorts what is timed.
    """
    choice = choose(recipe, kernel, forced)
    return name if choice.name == "tcg" and not forced else choice.name
