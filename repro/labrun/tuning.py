# SPDX-License-Identifier: GPL-2.0-only
"""tuning: files of the kernel's that hold one value, for the length of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from labrun.errors import StepError
from labrun.run import Run

PROC_SYS = Path("/proc/sys")
CLASS_BLOCK = Path("/sys/class/block")
Settings = Mapping[str, str | int]
# Setting the one clears the other, and 0 is what each reads then, but not what it
# takes (mm/page-writeback.c, dirty_bytes_handler): put back is the one that was set.
EITHER_OR = {
    "/proc/sys/vm/dirty_bytes": "/proc/sys/vm/dirty_ratio",
    "/proc/sys/vm/dirty_background_bytes": "/proc/sys/vm/dirty_background_ratio",
}


def sysctl_path(name: str) -> Path:
    """vm.dirty_ratio is /proc/sys/vm/dirty_ratio."""
    return PROC_SYS / name.replace(".", "/")


def queue_path(disk: str, name: str) -> Path:
    """A whole disk's queue attribute (Documentation/ABI/stable/sysfs-block)."""
    return CLASS_BLOCK / disk / "queue" / name


@contextmanager
def applied(
    run: Run, kind: str, path_of: Callable[[str], Path], settings: Settings
) -> Iterator[None]:
    """Set each, put back what was there; `kind` names the steps. None, no steps."""
    if not settings:
        yield
        return
    before: dict[Path, str] = {}
    try:
        with run.step(kind) as step:
            for name, value in settings.items():
                path = path_of(name)
                before |= _now(path)
                _set(path, value)
            run.manifest[kind] = dict(settings)
            step.detail = ", ".join(
                f"{name}={value}" for name, value in settings.items()
            )
        yield
    finally:
        with run.undo(f"{kind}-restore") as step:
            if not before:
                step.skip("nothing was set")
            _restore(before)


def _now(path: Path) -> dict[Path, str]:
    """What to put back later, and where."""
    value = path.read_text().strip()
    other = EITHER_OR.get(str(path))
    if other and value == "0":
        return _now(Path(other))
    return {path: value}


def _set(path: Path, value: str | int) -> None:
    try:
        path.write_text(f"{value}\n")
    except OSError as error:
        raise StepError(f"{path}: {value}: {error.strerror}") from None


def _restore(before: dict[Path, str]) -> None:
    """Put all back, the last one first; one that cannot be stops no other."""
    failures: list[StepError] = []
    for path, value in reversed(before.items()):
        try:
            _set(path, value)
        except StepError as error:
            failures.append(error)
    if failures:
        raise failures[0]
