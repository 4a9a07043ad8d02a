# SPDX-License-Identifier: GPL-2.0-only
"""conftest: provide the compiled workload programs to the tests of repro/."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support import KERNELS


@pytest.fixture(scope="session")
def workloads(artefacts: Callable[[str], Path]) -> Path:
    """The folder of the workload programs, linked statically: $WORKLOADS, or one built
    in the image's root."""
    if given := os.environ.get("WORKLOADS"):
        return Path(given)
    return artefacts(KERNELS[0])


@pytest.fixture
def latwriter(workloads: Path) -> Path:
    return workloads / "latwriter"


@pytest.fixture
def safepoint(workloads: Path) -> Path:
    return workloads / "safepoint"


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[Path]:
    """A tmpfs that is full after 64 KiB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a tmpfs needs root")
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64K", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False).returncode:
        pytest.skip("mounting a tmpfs is not allowed here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.fixture
def broker(workloads: Path) -> Path:
    return workloads / "broker"
