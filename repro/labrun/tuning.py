# SPDX-License-Identifier: GPL-2.0-only
"""sysctl: settings for the length of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from labrun.errors import StepError
from labrun.run import Run

PROC_SYS = Path("/proc/sys")


def path_of(name: str) -> Path:
    """vm.dirty_ratio is /proc/sys/vm/dirty_ratio."""
    return PROC_SYS / name.replace(".", "/")


@contextmanager
def applied(run: Run, settings: dict[str, str | int]) -> Iterator[None]:
    """Set each, put back what was there."""
    before: dict[str, str] = {}
    try:
        with run.step("sysctl") as step:
            for name, value in settings.items():
                before[name] = path_of(name).read_text().strip()
                _set(name, value)
            run.manifest["sysctl"] = settings
            step.detail = ", ".join(
                f"{name}={value}" for name, value in settings.items()
            )
        yield
    finally:
        with run.undo("sysctl-restore") as step:
            if not before:
                step.skip("nothing was set")
            _restore(before)


def _set(name: str, value: str | int) -> None:
    try:
        path_of(name).write_text(f"{value}\n")
    except OSError as error:
        raise StepError(f"sysctl {name}={value}: {error.strerror}") from None


def _restore(before: dict[str, str]) -> None:
    """Put all back, the last one first; one that cannot be stops no other."""
    failures: list[StepError] = []
    for name, value in reversed(before.items()):
        try:
            _set(name, value)
        except StepError as error:
            failures.append(error)
    if failures:
        raise failures[0]
