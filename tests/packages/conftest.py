# SPDX-License-Identifier: GPL-2.0-only
"""conftest: provide the built packages to the tests of this folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from driver.packaging import deb, sources

OLD = "0.0.9"


@pytest.fixture(scope="session")
def versions() -> tuple[str, str]:
    """A version that is lower, and the present one."""
    return OLD, sources.version()


@pytest.fixture(scope="session")
def packages(
    tmp_path_factory: pytest.TempPathFactory, versions: tuple[str, str]
) -> Path:
    """A folder with the packages in old/ and new/; lintian has judged them."""
    folder = tmp_path_factory.mktemp("packages")
    old, new = versions
    assert len(deb.build(folder / "old", old, judged=False)) == 4
    assert len(deb.build(folder / "new", new)) == 4
    return folder
