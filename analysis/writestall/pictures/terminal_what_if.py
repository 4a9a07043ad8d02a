# SPDX-License-Identifier: GPL-2.0-only
"""terminal_what_if: print a what-if, and the run that proves it."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from writestall.chain.answers import Answer
from writestall.common.scales import label, quantile
from writestall.pictures.distribution import before_and_after
from writestall.pictures.terminal import bar, plain_table, title
from writestall.whatif.proof import Proof
from writestall.whatif.removal import QUANTILES, WhatIf
from writestall_base.units import ms


def what_if(
    answer: Answer, found: WhatIf, proofs: list[Proof]
) -> Iterator[RenderableType]:
    """Yield the numbers measured and without the class, and the run that proves it."""
    yield from title(answer)
    yield Text(f"if {found.cls} had taken no time, and nothing had taken its place:")
    yield Text("")
    columns = [("", "left"), ("as it was", "right"), ("then", "right")]
    table = plain_table(*columns, ("as it was, by the model", "right"))
    stalls, then = found.stalls
    limit = f" of {ms(found.stall_ns)} or more" if found.stall_ns else ""
    table.add_row(f"stalls{limit}", str(stalls), str(then))
    for name, pair in (("in sum", found.sums_ns), ("longest", found.longest_ns)):
        table.add_row(name, *(ms(ns) for ns in pair))
    for row in _percentile_rows(found):
        table.add_row(*row)
    yield table
    yield Text("")
    if found.percentiles is not None:
        yield _distribution(before_and_after(answer, found.percentiles.then_writes))
        yield Text("")
    if found.sums_ns[0] == found.sums_ns[1]:
        yield Text(f"no stalled write had {found.cls} in its chain")
    else:
        yield from _proof_lines(found.cls, proofs)


def _percentile_rows(found: WhatIf) -> Iterator[tuple[str, ...]]:
    """Yield percentiles of all writes: measured, without the class, by the model."""
    percentiles = found.percentiles
    if percentiles is None:
        yield ("all writes: no schedule in writer.jsonl, or no writer.hlog", "-", "-")
        return
    columns = percentiles.measured_ns, percentiles.then_ns, percentiles.model_ns
    for at, *row in zip(QUANTILES, *columns, strict=True):
        yield (f"{quantile(at)} of all writes", *map(ms, row))


def _distribution(rows: list[tuple[int, int, int]]) -> Table:
    """All writes by latency, as measured and without the class."""
    most = max(max(counts) for _, *counts in rows)
    scale = ("(log scale)", "left")
    table = plain_table(
        ("up to", "right"), ("as it was", "right"), scale, ("then", "right"), scale
    )
    for edge_ns, *counts in rows:
        cells = [Text(label(edge_ns))]
        for count in counts:
            cells += [Text(str(count)), Text(bar(count, most), style="dim")]
        table.add_row(*cells)
    return table


def _proof_lines(cls: str, proofs: list[Proof]) -> Iterator[Text]:
    if not proofs:
        yield Text(f"no run is known that takes {cls} away and nothing else")
    for proof in proofs:
        if proof.lines:
            yield Text(
                f"the run that proves it: the same scenario with [{proof.table}]"
            )
            yield from (Text(f"    {line}") for line in proof.lines)
        else:
            yield Text(f"the run that proves it: {proof.also}")
        yield Text(f"why: {proof.why}")
        if proof.lines and proof.also:
            yield Text(f"but: {proof.also}")
