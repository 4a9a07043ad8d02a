# SPDX-License-Identifier: GPL-2.0-only
"""to_parquet: turns an answer into three Parquet tables: writes, links, blocks.

docs/export.md has the columns; tables.py makes the rows, and types stand here.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from writestall import __version__
from writestall.chain.answers import Answer
from writestall.common.errors import WritestallError
from writestall.common.units import utf8
from writestall.export.tables import Row, blocks, links, run_name, writes

# Rows held in memory at once, and of one row group.
ROWS = 65_536
# Texts that repeat: a number in each row, the text once.
_WORD = pa.dictionary(pa.int32(), pa.string())
_LIST = pa.list_(pa.string())
# Columns that are no whole number, by name; the same name is the same in all tables.
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
    """Writes `writes.parquet`, `links.parquet` and `blocks.parquet`."""
    about = answer.summary()
    told = {key: about[key] for key in ("scenario", "kernel", "engine")}
    told |= {"run": run_name(answer), "writestall": __version__}
    metadata = {f"writestall.{key}": utf8(str(value)) for key, value in told.items()}
    for name, rows in TABLES.items():
        try:
            _write(folder / f"{name}.parquet", rows(answer), metadata)
        except (pa.ArrowInvalid, OverflowError):
            text = f"{answer.stream.file}: a number that no 64 bits can hold"
            raise WritestallError(text) from None


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
