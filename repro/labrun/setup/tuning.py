# SPDX-License-Identifier: GPL-2.0-only
"""tuning: set sysctls and queue attributes, and restore them after the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from writestall_base.errors import StepError
from writestall_base.steps import Run

PROC_SYS = Path("/proc/sys")
CLASS_BLOCK = Path("/sys/class/block")
Settings = Mapping[str, str | int]
# Setting one clears the other to 0; a ratio may be set to 0, bytes may not
# (mm/page-writeback.c, dirty_bytes_handler()).
BYTES_OR_RATIO = tuple(
    (PROC_SYS / f"vm/{name}_bytes", PROC_SYS / f"vm/{name}_ratio")
    for name in ("dirty", "dirty_background")
)


def sysctl_path(name: str) -> Path:
    """Return /proc/sys/vm/dirty_ratio for vm.dirty_ratio."""
    return PROC_SYS / name.replace(".", "/")


def queue_path(disk: str, name: str) -> Path:
    """Return a disk's queue attribute (Documentation/ABI/stable/sysfs-block)."""
    return CLASS_BLOCK / disk / "queue" / name


@contextmanager
def applied(
    run: Run, kind: str, path_of: Callable[[str], Path], settings: Settings
) -> Iterator[None]:
    """Set each and restore it; `kind` names the steps, none without settings."""
    if not settings:
        yield
        return
    before: dict[Path, str] = {}
    try:
        with run.step(kind) as step:
            for name, value in settings.items():
                path = path_of(name)
                place, now = in_force(path)
                before.setdefault(place, now)
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


def in_force(path: Path) -> tuple[Path, str]:
    """Return the file to restore and its value: of a pair, the one that is not 0."""
    for in_bytes, in_ratio in BYTES_OR_RATIO:
        if path in (in_bytes, in_ratio):
            path = in_ratio if _value(in_bytes) == "0" else in_bytes
    return path, _value(path)


def _value(path: Path) -> str:
    return path.read_text().strip()


def _set(path: Path, value: str | int) -> None:
    try:
        path.write_text(f"{value}\n")
    except OSError as error:
        raise StepError(f"{path}: {value}: {error.strerror}") from None


def _restore(before: dict[Path, str]) -> None:
    """Restore all in reverse order, also after a failure."""
    failures: list[StepError] = []
    for path, value in reversed(before.items()):
        try:
            _set(path, value)
        except StepError as error:
            failures.append(error)
    if failures:
        raise failures[0]
