# SPDX-License-Identifier: GPL-2.0-only
"""symbols: a kernel of the image to its System.map, taken from its own guest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from machine import cache, image
from machine.errors import UserError
from machine.recipe import VM, Recipe

# Fewer symbols than this is a kernel that hides them (kptr_restrict), not a
# table: a Debian kernel has more than 100,000.
PLAUSIBLE = 50_000


def build(recipe: Recipe, name: str | None) -> Path:
    """The kernel's own symbols, as SystemTap wants a System.map to look.

    Debian ships a stub as /boot/System.map, and SystemTap does not read
    /proc/kallsyms, so the guest is booted once per kernel to print it. Lines
    of modules have a fourth column and are left out: theirs move.
    """
    kernel = image.kernel(recipe, name)

    def write(part: Path) -> None:
        command = [sys.executable, str(VM / "run"), "-k", kernel.name, "--cwd", "/"]
        command += ["--", "grep", "--invert-match", r"\[", "/proc/kallsyms"]
        got = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        lines = [
            line for line in got.stdout.splitlines() if not line.startswith("0" * 16)
        ]
        if got.returncode or len(lines) < PLAUSIBLE:
            raise UserError(
                f"no symbol table from kernel {kernel.release}: its machine printed"
                f" {len(lines)} symbols and status {got.returncode}"
            )
        part.write_text("\n".join(lines) + "\n")

    key = cache.digest(kernel.tree.name, kernel.release)
    return cache.build(f"symbols-{kernel.name}", key, write)
