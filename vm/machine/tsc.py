# SPDX-License-Identifier: GPL-2.0-only
"""tsc: measure this host's cycle counter and pass its rate to the guest's kernel.

Under TCG the guest's rdtsc is the host's (accel/tcg, cpu_get_host_ticks()), and
the guest calibrates it against the PIT while it boots (arch/x86/kernel/tsc.c). On a
busy host the result can be wrong by any factor: one guest's clock ran nine times too
fast, and it reported soft lockups that were none.
`tsc_early_khz` (Documentation/admin-guide/kernel-parameters.txt) skips it.
"""

from __future__ import annotations

from pathlib import Path

from machine import cache, image
from machine.commands import output
from machine.recipe import VM, Recipe
from writestall_base.errors import UserError

COMPILE = "gcc -O2 -static -x c -o /tmp/tsc_khz - && cat /tmp/tsc_khz"
ICOUNT_KHZ = 1_000_000  # the counter there is nanoseconds (cpus_get_elapsed_ticks())
PLAUSIBLE_KHZ = range(500_000, 10_000_000)


def _measure(recipe: Recipe, part: Path) -> None:
    """Compile the program in the image's root, run it here, keep what it prints."""
    compiler = image.entering(image.tree(recipe), (), ("bash", "-c", COMPILE))
    program = output(compiler, (VM / "tsc_khz.c").read_bytes())
    meter = part.with_name("tsc_khz")
    meter.write_bytes(program)
    meter.chmod(0o755)
    said = output([str(meter)]).decode()
    meter.unlink()
    if int(said) not in PLAUSIBLE_KHZ:
        raise UserError(f"this host's cycle counter runs at {said.strip()} kHz?")
    part.write_text(said)


def kernel_option(recipe: Recipe, accel: str) -> str:
    """`tsc_early_khz=N` for that accelerator; nothing under KVM, or without one."""
    if accel == "kvm" or not recipe.arch.has_tsc:
        return ""
    khz = ICOUNT_KHZ if accel.startswith("icount") else _host_khz(recipe)
    return f"tsc_early_khz={khz}"


def _host_khz(recipe: Recipe) -> int:
    """This host's, measured once per host kernel and processor."""
    key = cache.host_digest(VM / "tsc_khz.c")
    file = cache.build("tsc", key, lambda part: _measure(recipe, part))
    return int(file.read_text())
