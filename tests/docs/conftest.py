# SPDX-License-Identifier: GPL-2.0-only
"""conftest: the site of this tree, built once."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import PROJECT


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, one for all of pytest's workers; its build checks links and anchors."""
    own = tmp_path_factory.getbasetemp()
    out = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "site"
    with out.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not out.exists():
            _build(out)
    return out


def _build(out: Path) -> None:
    part = out.with_suffix(".part")
    path = f"{PROJECT / 'docs'}:{PROJECT / 'analysis'}"
    done = subprocess.run(
        [sys.executable, "-m", "website", "--out", str(part)],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    part.rename(out)
