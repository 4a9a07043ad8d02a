# SPDX-License-Identifier: GPL-2.0-only
"""to_parquet: write the Parquet tables writes, links and blocks.

docs/export.md documents the columns; tables.py makes the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from writestall import __version__
from writestall.chain.answers import Answer
from writestall.export.tables import Row, blocks, links, run_name, writes
from writestall_base.errors import UserError
from writestall_base.units import utf8

# Rows in memory, and in a row group.
ROWS = 65_536
# Texts that repeat are dictionary-encoded.
_WORD = pa.dictionary(pa.int32(), pa.string())
_LIST = pa.list_(pa.string())
# Columns that are not integers, by name; a name has one type in all tables.
_TYPES = {
    **dict.fromkeys("path why root".split(), pa.string()),
    **dict.fromkeys("run comm call dev main_class kind class role".split(), _WORD),
    **dict.fromkeys("holder_comm holder_role link waker_comm waker_ctx".split(), _WORD),
    **dict.fromkeys("functions kstack waker_kstack".split(), _LIST),
    "evidence": pa.list_(pa.int64()),
    "explained": pa.bool_(),
    "ino": pa.uint64(),
}
TABLES = {"writes": writes, "links": links, "blocks": blocks}


def fill(answer: Answer, folder: Path) -> None:
    """Write `writes.parquet`, `links.parquet` and `blocks.parquet`."""
    about = answer.summary()
    facts = {key: about[key] for key in ("scenario", "kernel", "engine")}
    facts |= {"run": run_name(answer), "writestall": __version__}
    metadata = {f"writestall.{key}": utf8(str(value)) for key, value in facts.items()}
    for name, rows in TABLES.items():
        try:
            _write(folder / f"{name}.parquet", rows(answer), metadata)
        except (pa.ArrowInvalid, OverflowError):
            text = f"{answer.stream.file}: a number does not fit into 64 bits"
            raise UserError(text) from None


def _write(path: Path, rows: Iterator[Row], metadata: dict[str, str]) -> None:
    first = next(rows, None)
    if first is None:
        return
    fields = [pa.field(name, _TYPES.get(name, pa.int64())) for name in first]
    schema = pa.schema(fields, metadata=metadata)
    rows = chain([first], rows)
    with pq.ParquetWriter(path, schema, compression="zstd") as file:
        while batch := list(islice(rows, ROWS)):
            file.write_table(pa.Table.from_pylist(batch, schema))
