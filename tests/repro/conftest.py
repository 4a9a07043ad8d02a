# SPDX-License-Identifier: GPL-2.0-only
"""conftest: the compiled parts to the writer that the tests of repro/ start."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support import KERNELS


@pytest.fixture(scope="session")
def latwriter(artefacts: Callable[[str], Path]) -> Path:
    """latwriter, linked statically: $LATWRITER, or one made in the image's root."""
    if given := os.environ.get("LATWRITER"):
        return Path(given)
    return artefacts(KERNELS[0]) / "latwriter"
