# SPDX-License-Identifier: GPL-2.0-only
"""conftest: provide machines, kernels and compiled parts to all tests."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

from support import KERNELS, ON_DEMAND, Run, tool

# Hosts are shared: the duration of an example shows nothing about the code.
settings.register_profile("shared host", deadline=None)
settings.load_profile("shared host")
# A process started in the background by a shell without job control ignores SIGINT, and
# so do its children (POSIX, "Asynchronous Lists"), but tests press Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out what is run on demand, and start with the longest tests, so that no
    worker is left with one at the end."""
    if not ON_DEMAND:
        left = [item for item in items if item.get_closest_marker("on_demand")]
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if item not in left]
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
            more = ["--lessons"] * ON_DEMAND
            done = tool("writestall", "build", "--tests", *more, "-k", name)
            assert done.returncode == 0, done.stderr[-2000:]
            made[name] = Path(done.stdout.strip().splitlines()[-1])
        return made[name]

    return build
