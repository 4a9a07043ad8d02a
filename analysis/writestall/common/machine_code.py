# SPDX-License-Identifier: GPL-2.0-only
"""machine_code: compile modules of number crunching, where numba is installed.

Such a module has functions of whole numbers, of flat arrays of them and of named tuples
of these, and is the same without: only slower. Code made once is kept beside other
programs' caches, by what it was made of.
"""

from __future__ import annotations

import hashlib
import os
import sys
from array import array
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeVar, cast

PACKAGE = __package__.partition(".")[0]
M = TypeVar("M", bound=ModuleType)
# Events, from which on it is worth loading it: three quarters of a second.
WORTH_EVENTS = 40_000
# Sums of times must stay within a signed 64-bit integer, as Python's need not.
MOST_NS = 2**62
# Functions that make no array need not count who uses one: that took nine tenths of
# their time. Their divisors are never 0.
_OPTIONS: dict[str, Any] = {"cache": True, "_nrt": False, "error_model": "numpy"}


def worth(events: int) -> bool:
    """True where so many events are faster explained by machine code."""
    return events >= WORTH_EVENTS and _is_there()


@cache
def _is_there() -> bool:
    try:
        import numba  # noqa: F401
    except ImportError:
        return False
    return True


def code(module: M) -> M:
    """The module's functions as machine code, each made when it is first called."""
    return cast(M, _code(module))


@cache
def _code(module: ModuleType) -> Any:
    import numba

    others = {home: vars(_code(sys.modules[home])) for home in _others(module)}
    made = ModuleType(module.__name__)
    space = vars(made)
    space.update(vars(module))
    options, config = dict(_OPTIONS), cast(Any, numba.config)
    if not os.environ.get("NUMBA_CACHE_DIR"):
        kept = _kept_in(module)
        config.CACHE_DIR = str(kept)
        options["cache"] = _is_writable(kept)
    for name, function in _functions(module):
        home = function.__module__
        if home != module.__name__:
            space[name] = others[home][name]
            continue
        # The functions it calls are found among these, not in the module.
        own = FunctionType(function.__code__, space, name, function.__defaults__)
        own.__module__, own.__qualname__ = home, name
        space[name] = numba.njit(**options)(own)
    return made


def _functions(module: ModuleType) -> Iterator[tuple[str, FunctionType]]:
    """The functions of this package in a module, its own and those it imports."""
    for name, value in vars(module).items():
        home = value.__module__ if isinstance(value, FunctionType) else ""
        if home.startswith(f"{PACKAGE}."):
            yield name, value


def _others(module: ModuleType) -> set[str]:
    """The modules whose functions it imports."""
    homes = {function.__module__ for _, function in _functions(module)}
    return homes - {module.__name__}


def _kept_in(module: ModuleType) -> Path:
    """A folder for the code of these very functions and constants.

    numba keeps code by the file that a function is in; it does not see a change in what
    that one imports.
    """
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home, "writestall", "code", _digest(module)[:16])


def _is_writable(folder: Path) -> bool:
    """Whether code can be kept there; where it cannot, it is made each time."""
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return os.access(folder, os.W_OK)


def _digest(module: ModuleType) -> str:
    parts: list[Any] = [_digest(sys.modules[home]) for home in sorted(_others(module))]
    for name, value in sorted(vars(module).items()):
        if isinstance(value, (int, float, tuple)):
            parts.append((name, value))
        elif isinstance(value, FunctionType) and value.__module__ == module.__name__:
            code = value.__code__
            parts.append((name, code.co_code, code.co_consts, code.co_names))
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def view(column: array[int]) -> Any:
    """The numbers of an array as numpy has them, in the same memory."""
    import numpy as np

    code = column.typecode
    return np.frombuffer(column, code) if column else np.zeros(0, code)
