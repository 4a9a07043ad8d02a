# SPDX-License-Identifier: GPL-2.0-only
"""source: print a function of the lab's kernel, with its line numbers.

A definition begins in the first column and ends with the first brace in that column:
Documentation/process/coding-style.rst.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from machine import recipe, source
from writestall_base.errors import UserError

# Lines above and below a line that is looked for.
AROUND = 5


@dataclass(frozen=True)
class Function:
    """A definition: its file in the tree, the number of its first line, its lines."""

    file: Path
    first: int
    lines: tuple[str, ...]

    def around(self, word: str) -> Iterator[str]:
        """The lines near each one with that word, numbered, `...` for those between;
        all are near an empty word."""
        hits = [at for at, line in enumerate(self.lines) if word in line]
        shown = {
            near
            for at in hits
            for near in range(at - AROUND, at + AROUND + 1)
            if 0 <= near < len(self.lines)
        }
        last = -1
        for at in sorted(shown):
            if at != last + 1:
                yield "   ..."
            yield self._line(at)
            last = at
        if shown and last + 1 < len(self.lines):
            yield "   ..."

    def _line(self, at: int) -> str:
        return f"{self.first + at:6}  {self.lines[at]}".rstrip()


def find(tree: Path, name: str) -> list[Function]:
    """The definitions of a function, by their files; a static one may have several."""
    called = re.compile(rf"(?<![\w.>]){re.escape(name)}\s*\(")
    found: list[Function] = []
    for path in sorted(tree.rglob("*.[ch]")):
        text = path.read_text(errors="replace")
        if name in text:
            found += _definitions(path.relative_to(tree), text.splitlines(), called)
    return found


def _definitions(
    file: Path, lines: list[str], called: re.Pattern[str]
) -> Iterator[Function]:
    for at, line in enumerate(lines):
        if line[:1].isalpha() or line[:1] == "_":
            match = called.search(line)
            end = _end(lines, at) if match else None
            if end is not None:
                first = at - 1 if at and _is_type(lines[at - 1]) else at
                yield Function(file, first + 1, tuple(lines[first : end + 1]))


def _is_type(line: str) -> bool:
    """Whether a line is the type of the function that the next line names."""
    return bool(re.fullmatch(r"[A-Za-z_][\w \t*]*", line))


def _end(lines: list[str], at: int) -> int | None:
    """The last line of the function that begins there; None for a declaration."""
    body = False
    for place in range(at, len(lines)):
        line = lines[place]
        if body and line.startswith("}"):
            return place
        if not body and "{" in line:
            if line.count("{") == line.count("}"):
                return place
            body = True
        elif not body and (";" in line or not line.strip()):
            return None
    return None


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("function", metavar="FUNCTION", help="such as vfs_write")
    of_kernel = "a kernel of vm/kernels.toml, like 7.2, or a kernel tree"
    parser.add_argument("--kernel", metavar="KERNEL", help=of_kernel)
    near = "only the lines near those that have WORD, such as a function called"
    parser.add_argument("--around", metavar="WORD", help=near)


def main(args: argparse.Namespace) -> int:
    """Print each definition below a line with its file and the kernel's release."""
    tree = _tree(args.kernel)
    found = find(tree, args.function)
    if not found:
        raise UserError(
            f"{args.function}: no such function in {source.FOLDERS.replace(' ', ', ')}"
            f" of Linux {source.release(tree)}; it may be a macro, or have another name"
            " there: see docs/kernel-support.md"
        )
    print("\n".join(_lines(found, source.release(tree), args.around or "")))
    return 0


def _tree(kernel: str | None) -> Path:
    """A tree that is named, or that of the image's kernel."""
    if kernel and Path(kernel).is_dir():
        return Path(kernel)
    known = recipe.load(kernel, full=True)
    if known.own:
        raise UserError(f"--kernel {kernel}: want a name of vm/kernels.toml, or a tree")
    return source.tree(known.kernels[known.kernel])


def _lines(found: list[Function], release: str, word: str) -> Iterator[str]:
    for one in found:
        yield f"{one.file}, Linux {release}"
        yield from list(one.around(word)) or [f"   no line with {word}"]
        yield ""
