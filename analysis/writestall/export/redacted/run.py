# SPDX-License-Identifier: GPL-2.0-only
"""run: copy a run directory with a token for each name."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from writestall.common import compressed
from writestall.common.compressed import DEFAULT, Bound
from writestall.export.redacted import events, manifest
from writestall.export.redacted.names import Names
from writestall_base import files
from writestall_base.errors import UserError
from writestall_base.files import save_folder
from writestall_base.folders import refuse_special

EVENTS = "events"
OF_BPF = b"[bpf]"  # a program's name, which its user gave
UTF8 = "utf-8"
OF_A_TRACER = re.compile(r"(?:stap|bpf|bpftrace|core|journal_commits)\.jsonl")
# Of the kernel's log, stacks and hung tasks are kept: any program may write to it, and
# drivers print names of theirs.
LEFT_OUT = "(left out)"
_TIME = re.compile(r"(\[\s*\d+\.\d+\] )(.*)", re.DOTALL)
# kernel/kallsyms.c and arch/x86/kernel/dumpstack.c
_STACK = re.compile(
    r" (?:Call Trace:|</?TASK>| ?(?:\? )?[\w.$]+\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[\w+\])?)"
    r"|Call Trace:"
)
# kernel/hung_task.c check_hung_task(), kernel/sched/core.c sched_show_task()
_TASKS = tuple(
    re.compile(form)
    for form in (
        r"(INFO: task )(.*)(:\d+ blocked for more than \d+ seconds\.)",
        r"(task:)(.*?)( *state:\w stack:\d+ +pid:\d+ [\w: -]*)",
    )
)


def _log(lines: Iterable[str], names: Names) -> Iterator[str]:
    """The lines without what has no known form; their times stay."""
    for line in lines:
        found = _TIME.fullmatch(line)
        time, text = found.groups() if found else ("", line)
        yield f"{time}{_text(text, names)}"


def _text(text: str, names: Names) -> str:
    if _STACK.fullmatch(text):
        return text
    for form in _TASKS:
        if found := form.fullmatch(text):
            return f"{found[1]}{names.comm(found[2])}{found[3]}"
    return LEFT_OUT


def redact(source: Path, target: Path, bound: Bound = DEFAULT) -> str:
    """Make the new folder `target`; return what was left out, in one line.

    Raises UserError where the run cannot be read, unpacks to more than its bound
    or holds a link, or the folder not be made.
    """
    refuse_special(source)
    left_out = ""

    def fill(folder: Path) -> None:
        nonlocal left_out
        left_out = _fill(source, folder, bound)

    save_folder(target, fill)
    return left_out


def _fill(source: Path, folder: Path, bound: Bound) -> str:
    names = Names()
    _manifest(source / "manifest.json", folder, names)
    done = {source / "manifest.json"}
    (folder / EVENTS).mkdir()
    for path in sorted((source / EVENTS).glob("*.jsonl*")):
        name = path.name.partition(".jsonl")[0] + ".jsonl"
        if not OF_A_TRACER.fullmatch(name):
            continue
        with (folder / EVENTS / name).open("wb") as file:
            file.writelines(_events(path, names, bound))
        done.add(path)
    for name, copy in COPIES.items():
        if (source / name).is_file():
            (folder / name).parent.mkdir(exist_ok=True)
            copy(source / name, folder / name, names, bound)
            done.add(source / name)
    others = sorted(path for path in source.rglob("*") if path.is_file())
    left = [str(path.relative_to(source)) for path in others if path not in done]
    return f"left out: {', '.join(left) or 'nothing'}"


def _manifest(path: Path, folder: Path, names: Names) -> None:
    try:
        value = json.loads(files.content(path))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: {error}") from None
    kept = manifest.redacted(value if isinstance(value, dict) else {}, names)
    text = json.dumps(kept, indent=2, ensure_ascii=False)
    (folder / path.name).write_bytes(text.encode(UTF8, "replace") + b"\n")


def _events(path: Path, names: Names, bound: Bound) -> Iterator[bytes]:
    for line in _lines(path, bound):
        kept = events.redacted(line, names)
        if kept is not None:
            yield kept


def _lines(path: Path, bound: Bound) -> Iterator[bytes]:
    try:
        with compressed.opened(str(path), bound) as (content, _):
            yield from compressed.lines(content)
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}") from None
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _kernel_log(source: Path, target: Path, names: Names, _: Bound) -> None:
    lines = files.content(source).decode(UTF8, "replace").splitlines()
    text = "".join(f"{line}\n" for line in _log(lines, names))
    target.write_text(text, encoding=UTF8)


def _kallsyms(source: Path, target: Path, _: Names, bound: Bound) -> None:
    """The kernel's own functions; level 1, as they were packed."""
    with gzip.open(target, "wb", 1) as packed:
        packed.writelines(line for line in _lines(source, bound) if OF_BPF not in line)


def _files(source: Path, target: Path, names: Names, _: Bound) -> None:
    rows: Any = json.loads(files.content(source))
    kept = [
        {"path": names.file(str(row["path"])), "build_id": row["build_id"]}
        for row in rows
    ]
    target.write_text(json.dumps(kept, indent=2) + "\n", encoding=UTF8)


COPIES = {
    "kernel.log": _kernel_log,
    "kallsyms.gz": _kallsyms,
    "symbols/files.json": _files,
}
