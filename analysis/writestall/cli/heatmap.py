# SPDX-License-Identifier: GPL-2.0-only
"""heatmap: show a run's writes by time and latency, and what the stalls waited for."""

from __future__ import annotations

import argparse

from writestall.cli import options
from writestall_base.errors import UserError

# Columns of a picture: with more, its letters are too small to read.
PICTURE_COLUMNS = 120


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add RUN and the picture."""
    options.add_picture(parser)


def main(args: argparse.Namespace) -> int:
    """Print or draw the heat map."""
    from writestall.pictures import terminal, time_grid

    answer = options.read_answer(args)
    columns = PICTURE_COLUMNS if args.output else terminal.columns()
    if not answer.writes:
        raise UserError(f"{answer.run.path}: no write stalled, nothing to show")
    found = time_grid.heat_map(answer, time_grid.grid_of(answer, columns))
    return options.show(
        args.output,
        lambda image, suffix: image.heat_map(answer, found, suffix),
        lambda: terminal.heat_map(answer, found),
    )
