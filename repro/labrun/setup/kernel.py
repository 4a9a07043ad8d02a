# SPDX-License-Identifier: GPL-2.0-only
"""kernel: save the symbols and the log of the running kernel."""

from __future__ import annotations

import errno
import gzip
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from writestall_base.errors import StepError
from writestall_base.steps import Run

KALLSYMS, LOG = Path("/proc/kallsyms"), Path("/dev/kmsg")
# /dev/kmsg gives one record per read, none larger (CONSOLE_EXT_LOG_MAX).
RECORD_BYTES = 8192

# Lines that invalidate the run.
SPLATS = re.compile(
    r"\bBUG: |\bWARNING: |\bOops\b|general protection fault|kernel panic"
    r"|possible (circular|recursive) locking|rcu: INFO: rcu_|soft lockup"
    r"|inconsistent lock state|-fs error|I/O error"
)


def save_symbols(run: Run) -> None:
    """Write kallsyms.gz with the injector's symbols, before the tracers start."""
    with run.step("kallsyms"):
        target = run.out / "kallsyms.gz"
        try:
            # Level 1: a higher one takes a slow machine seconds, to save a megabyte.
            with KALLSYMS.open("rb") as source, gzip.open(target, "wb", 1) as packed:
                shutil.copyfileobj(source, packed, 1 << 20)
        except OSError:
            target.unlink(missing_ok=True)  # leave room for the manifest
            raise


class Log:
    """The kernel's messages since it was opened."""

    def __init__(self) -> None:
        self._descriptor = os.open(LOG, os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self._descriptor, 0, os.SEEK_END)

    def close(self) -> list[str]:
        """Return all of them, `[ 12.345678] text` each."""
        lines: list[str] = []
        with os.fdopen(self._descriptor):
            while True:
                try:
                    record = os.read(self._descriptor, RECORD_BYTES)
                except BlockingIOError:
                    return lines
                except OSError as error:
                    if error.errno != errno.EPIPE:
                        raise
                    lines.append("(messages lost: the ring buffer was overrun)")
                    continue
                lines.append(_line(record.decode(errors="replace")))


@contextmanager
def log_saved(run: Run, splats: re.Pattern[str] | None = SPLATS) -> Iterator[None]:
    """Write kernel.log: the kernel's messages from entry to exit.

    A line that `splats` finds fails the run.
    """
    with run.step("kernel-log"):
        log = Log()
    try:
        yield
    finally:
        with run.undo("kernel-log-save") as step:
            lines = log.close()
            text = "".join(f"{line}\n" for line in lines)
            (run.folder / "kernel.log").write_text(text)
            step.detail = f"{len(lines)} lines"
            splat = splats and next(filter(splats.search, lines), None)
            if splat:
                raise StepError(f"the kernel complained: {splat}")


@contextmanager
def explained(module: str) -> Iterator[None]:
    """Replace the reason of a failure by the module's message in the kernel log."""
    log = Log()
    try:
        yield
    except StepError as error:
        words = [line for line in log.close() if f"] {module}: " in line]
        if not words:
            raise
        raise StepError(words[-1].partition("] ")[2]) from error
    log.close()


def _line(record: str) -> str:
    """Parse `priority,sequence,microseconds,flags;text` (dev-kmsg)."""
    prefix, _, text = record.partition(";")
    time_us = int(prefix.split(",")[2])
    return f"[{time_us / 1e6:12.6f}] {text.splitlines()[0] if text else ''}"


def loaded(module: str) -> bool:
    """Whether a kernel module of that name is loaded."""
    return Path(f"/sys/module/{module}/initstate").exists()
