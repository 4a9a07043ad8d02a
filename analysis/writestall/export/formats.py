# SPDX-License-Identifier: GPL-2.0-only
"""formats: export an answer in a format of the table, to a file or folder.

A library is imported only by the format that needs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from writestall_base.errors import UserError
from writestall_base.files import save, save_folder

if TYPE_CHECKING:
    from writestall.chain.answers import Answer


@dataclass(frozen=True, slots=True)
class Format:
    """A format: the function that makes it, its kind and its requirements.

    kind       text (may be printed), bytes (to a file) or folder (a new one)
    library    the package that it needs, if any
    empty      whether a run without a stall can be exported
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
    "disk": Format(
        "to_disk_series", "document", TEXT, "what its disks did, for lab --from",
        empty=True,
    ),
    "calls": Format(
        "to_calls", "packed", BYTES, "what its tasks called, for repro/replay",
        empty=True,
    ),
    "calls-csv": Format(
        "to_calls", "table", TEXT, "the same, a line each", empty=True,
    ),
    "stalls": Format(
        "to_stalls", "document", TEXT, "how long calls stalled, for lab --from",
        empty=True,
    ),
    "csv": Format("to_csv", "table", TEXT, "one line per stalled write"),
}  # fmt: skip


def export(answer: Answer, name: str, target: Path | None) -> str | None:
    """Write the answer in a format; return the text if it is to be printed.

    `target` None is standard output.
    """
    wanted = FORMATS[name]
    if target is None and wanted.kind != TEXT:
        what = "a new folder" if wanted.kind == FOLDER else "a file"
        raise UserError(f"--to {name}: name {what} with -o")
    if not answer.writes and not wanted.empty:
        raise UserError(f"{answer.run.path}: no write stalled, nothing to export")
    module = f"writestall.export.{wanted.module}"
    make = getattr(load(module, wanted.library), wanted.call)
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
    """Import a module that needs a library, or the library; raise if it is missing."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise UserError(
            f"this needs {library} ({error.name} is missing): "
            f"pip install 'writestall[{extra}]', or your distribution's package of it"
        ) from None
