# SPDX-License-Identifier: GPL-2.0-only
"""conftest: a module that breaks the kernel it is loaded into."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from machine import image, recipe
from support import tool

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def splat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with splat.ko for the default kernel."""
    folder = tmp_path_factory.mktemp("splat")
    for file in (HERE / "splat").iterdir():
        shutil.copy(file, folder)
    release = image.kernel(recipe.load()).release
    build = f"make -s -C /lib/modules/{release}/build M=/mnt/splat modules"
    done = tool("vm/vm", "enter", f"{folder}:/mnt/splat", "--", "bash", "-c", build)
    assert done.returncode == 0, done.stderr
    return folder
