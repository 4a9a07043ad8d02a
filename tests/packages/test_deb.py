# SPDX-License-Identifier: GPL-2.0-only
"""This test will install, use, upgrade and purge the packages in fresh Debian trees."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from driver.packaging import deb, trees

HERE = Path(__file__).parent


def run(suite: str, packages: Path, folder: Path, script: str, *words: str) -> str:
    """Run a script of this folder in a fresh tree of the suite; its last words."""
    trees.network(folder)
    shutil.copy(HERE / script, folder)
    for name in ("old", "new"):
        shutil.copytree(packages / name, folder / name)
    command = ["bash", f"{trees.HOST}/{script}", *words]
    trees.enter(trees.tree(suite), [f"{folder}:{trees.HOST}"], command)
    return (folder / "done").read_text()


@pytest.mark.parametrize("suite", trees.SUITES)
def test_it_is_installed_used_upgraded_and_purged(
    suite: str, packages: Path, versions: tuple[str, str], tmp_path: Path
) -> None:
    output = run(suite, packages, tmp_path, "in-suite.sh", *versions)
    assert "installed {}, upgraded to {}, purged".format(*versions) in output


def test_dkms_builds_the_module(
    packages: Path, versions: tuple[str, str], tmp_path: Path
) -> None:
    output = run("trixie", packages, tmp_path, "module-by-dkms.sh", versions[1])
    assert f"biodelay {versions[1]} was built" in output


def test_built_twice_they_are_the_same_bytes(
    packages: Path, versions: tuple[str, str], tmp_path: Path
) -> None:
    again = deb.build(tmp_path, versions[1], judged=False)
    assert again
    for path in again:
        assert path.read_bytes() == (packages / "new" / path.name).read_bytes()
