# SPDX-License-Identifier: GPL-2.0-only
"""conftest: the machine, its kernels and the compiled parts, for all tests."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from support import KERNELS, Run, tool

# Hosts are shared: how long an example took says nothing of the code.
settings.register_profile("shared host", deadline=None)
settings.load_profile("shared host")
# Who is begun in the background by a shell without job control is to ignore SIGINT, and
# so are all it begins itself (POSIX, "Asynchronous Lists"): tests press Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no worker is left with it alone."""
    items.sort(key=lambda item: item.get_closest_marker("first") is None)


@pytest.fixture(scope="session")
def machine() -> Run:
    """vm/vm run: machine("-k", "6.12", "--", "uname", "-r")."""
    return lambda *arguments, **options: tool("vm/vm", "run", *arguments, **options)


@pytest.fixture(scope="session", params=KERNELS)
def kernel(request: pytest.FixtureRequest) -> str:
    """Each kernel of the recipe, by its short name."""
    return str(request.param)


@pytest.fixture(scope="session")
def artefacts() -> Callable[[str], Path]:
    """The compiled parts for a kernel: artefacts("6.12") / "biodelay.ko"."""
    made: dict[str, Path] = {}

    def build(name: str) -> Path:
        if name not in made:
            done = tool("writestall", "build", "--tests", "-k", name)
            assert done.returncode == 0, done.stderr[-2000:]
            made[name] = Path(done.stdout.strip().splitlines()[-1])
        return made[name]

    return build
