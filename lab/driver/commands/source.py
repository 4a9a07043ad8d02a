# SPDX-License-Identifier: GPL-2.0-only
"""source: print a function of the lab's kernel, with its line numbers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from driver import functions
from machine import recipe, source
from writestall_base.errors import UserError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("function", metavar="FUNCTION", help="such as vfs_write")
    of_kernel = "a kernel of vm/kernels.toml, like 7.2, or a kernel tree"
    parser.add_argument("--kernel", metavar="KERNEL", help=of_kernel)
    near = "only the lines near those that have WORD, such as a function called"
    parser.add_argument("--around", metavar="WORD", help=near)


def main(args: argparse.Namespace) -> int:
    """Print each definition below a line with its file and the kernel's release."""
    tree = _tree(args.kernel)
    found = functions.find(tree, args.function)
    if not found:
        raise UserError(
            f"{args.function}: no such function in {source.FOLDERS.replace(' ', ', ')}"
            f" of Linux {source.release(tree)}; it may be a macro, or have another name"
            " there: see docs/kernel-support.md"
        )
    print("\n".join(_lines(found, source.release(tree), args.around)))
    return 0


def _tree(kernel: str | None) -> Path:
    """A tree that is named, or that of the image's kernel."""
    if kernel and Path(kernel).is_dir():
        return Path(kernel)
    known = recipe.load(kernel, full=True)
    if known.own:
        raise UserError(f"--kernel {kernel}: want a name of vm/kernels.toml, or a tree")
    return source.tree(known.kernels[known.kernel])


def _lines(
    found: list[functions.Function], release: str, word: str | None
) -> Iterator[str]:
    for one in found:
        yield f"{one.file}, Linux {release}"
        lines = list(one.around(word) if word else one.numbered())
        yield from lines or [f"   no line with {word}"]
        yield ""
