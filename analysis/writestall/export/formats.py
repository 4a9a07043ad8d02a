# SPDX-License-Identifier: GPL-2.0-only
"""formats: turns a format's name into the call that makes it, and its bytes into files.

Libraries are loaded by the format that needs them and by no other.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from writestall.chain.answers import Answer
from writestall.common.errors import WritestallError
from writestall.common.files import save, save_folder


@dataclass(frozen=True, slots=True)
class Format:
    """A format: who makes it, in which form, and what it needs.

    kind       text (may be printed), bytes (to a file) or folder (a new one)
    library    the package that must be installed for it, if any
    empty      whether a run without a stall has something to say in it
    """

    module: str
    call: str
    kind: str
    what: str
    library: str = ""
    empty: bool = False


TEXT, BYTES, FOLDER = "text", "bytes", "folder"
FORMATS = {
    "perfetto": Format(
        "to_perfetto", "trace", BYTES, "timeline with arrows, for ui.perfetto.dev",
        library="perfetto",
    ),
    "folded": Format("to_folded", "folded", TEXT, "stacks in us, for FlameGraph"),
    "parquet": Format(
        "to_parquet", "fill", FOLDER, "tables writes, links, blocks",
        library="pyarrow", empty=True,
    ),
    "prometheus": Format(
        "to_prometheus", "metrics", TEXT, "OpenMetrics, for a node_exporter textfile",
        empty=True,
    ),
    "hlog": Format("to_hlog", "log", TEXT, "HdrHistogram log, tagged by class"),
    "csv": Format("to_csv", "table", TEXT, "one line per stalled write"),
}  # fmt: skip


def export(answer: Answer, name: str, target: Path | None) -> str | None:
    """Writes the answer in a format; returns the text to print where that is wanted.

    `target` None is standard output.
    """
    wanted = FORMATS[name]
    if target is None and wanted.kind != TEXT:
        what = "a new folder" if wanted.kind == FOLDER else "a file"
        raise WritestallError(f"--to {name}: name {what} with -o")
    if not answer.writes and not wanted.empty:
        raise WritestallError(f"{answer.run.path}: no write stalled, nothing to export")
    make = getattr(load(f"export.{wanted.module}", wanted.library), wanted.call)
    if wanted.kind == FOLDER:
        assert target is not None
        save_folder(target, lambda folder: make(answer, folder))
        return None
    made = make(answer)
    if target is None:
        return str(made)
    save(target, made if isinstance(made, bytes) else made.encode("utf-8", "replace"))
    return None


def load(module: str, library: str, extra: str = "export") -> Any:
    """A module of this package that needs a library; raises where that is missing."""
    try:
        return import_module(f"writestall.{module}")
    except ModuleNotFoundError as error:
        raise WritestallError(
            f"this needs {library} ({error.name} is missing): "
            f"pip install 'writestall[{extra}]'"
        ) from None
