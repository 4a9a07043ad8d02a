# SPDX-License-Identifier: GPL-2.0-only
"""machine: run a lab in a virtual machine, by `writestall lab`."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from writestall.course import checkout, draw, scenario, tables, work
from writestall_base.errors import INTERRUPTED, UserError
from writestall_base.files import save_inside
from writestall_base.stop import handled


def mystery(place: Path, number: int, seed: str) -> str:
    """The scenario that the seed draws, as a file in a folder."""
    file = place / f"{scenario.NAME}.toml"
    save_inside(
        place, file.name, scenario.text(draw.draw(tables.lab(number), seed)).encode()
    )
    return str(file.resolve())


def run(
    place: Path, number: int, what: str, options: Sequence[str], *, answers: bool = True
) -> None:
    """Run a lab's scenario into a folder; raise where there is no complete run then.

    `answers` is whether the chains are printed, which a mystery asks for.

    A run that fails its check is kept: on a busy host the whole of it may not agree
    with the injector's record, and the question is about a call that does.
    """
    words = [str(checkout.program()), "lab", what, "--out", str(place), *options]
    status = _ended(words, None if answers else subprocess.DEVNULL)
    if status and not work.is_complete(place):
        why = "interrupted" if status == INTERRUPTED else "the run failed; see above"
        error = UserError(f"lab {number}: {why}; {work.again(number)}")
        error.status = status
        raise error


def _ended(words: list[str], output: int | None) -> int:
    """A program's status. It ends its machine at SIGTERM and SIGHUP, which are passed
    on; the terminal sends Ctrl-C to both.
    """
    child = subprocess.Popen(words, stdout=output)

    def pass_on(number: int, _: FrameType | None) -> None:
        child.send_signal(number)

    passed_on = dict.fromkeys((signal.SIGTERM, signal.SIGHUP), pass_on)
    with handled({**passed_on, signal.SIGINT: signal.SIG_IGN}):
        return child.wait()
