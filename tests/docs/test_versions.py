# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare the versions that the tree names: there is one."""

from __future__ import annotations

import re
import tomllib

import pytest

from support import PROJECT
from writestall import __version__

PLACES = {
    "kmod/biodelay.h": r'#define BIODELAY_VERSION "(.*)"',
    "kmod/dkms.conf": r'PACKAGE_VERSION="(.*)"',
    "kmod/README.md": r"`dkms install biodelay/(.*)`",
    "CHANGELOG.md": r"^## (\d.*) - \d{4}-\d\d-\d\d$",
}


@pytest.mark.parametrize("place", PLACES)
def test_the_version_is_the_packages(place: str) -> None:
    found = re.findall(PLACES[place], (PROJECT / place).read_text(), re.MULTILINE)
    assert found[0] == __version__


def test_the_package_has_the_version_of_its_code() -> None:
    table = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    if "version" in table["project"].get("dynamic", ()):
        source = table["tool"]["setuptools"]["dynamic"]["version"]
        assert source == {"attr": "writestall.__version__"}
    else:
        assert table["project"]["version"] == __version__


def test_the_newest_changes_stand_first() -> None:
    """Versions fall from the top, below what is not released."""
    headings = re.findall(r"^## (.*)$", (PROJECT / "CHANGELOG.md").read_text(), re.M)
    assert headings[0] == "Unreleased"
    versions = [[int(n) for n in re.findall(r"\d+", h)][:3] for h in headings[1:]]
    assert versions == sorted(versions, reverse=True) != []
