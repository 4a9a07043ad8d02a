# SPDX-License-Identifier: GPL-2.0-only
"""stored_run: a run directory that is kept for long, its records compressed."""

from __future__ import annotations

from pathlib import Path

from writestall.common import compressed
from writestall_base import folders
from writestall_base.errors import UserError


def unpack(stored: Path, to: Path) -> None:
    """Copies a stored run, unpacks its records, and leaves out recorded answers.

    Raises OSError where a file cannot be copied, and UserError where one is a
    link, damaged, or unpacks to too much.
    """
    folders.copy(stored, to, "*.gold.*")
    for packed in to.rglob("*.gz"):
        try:
            with (
                compressed.opened(str(packed), compressed.DEFAULT) as (content, _),
                packed.with_suffix("").open("xb") as file,
            ):
                file.writelines(compressed.chunks(content))
        except UserError as error:
            raise UserError(f"{packed}: {error}") from None
        packed.unlink()
