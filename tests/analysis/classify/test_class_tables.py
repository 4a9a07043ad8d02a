# SPDX-License-Identifier: GPL-2.0-only
"""This test will look up each wait class in each table that has a row for most."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import writestall
from writestall.classify import classes as c


def tables() -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """The mappings that stand in modules of the package, by name."""
    for found in pkgutil.walk_packages(writestall.__path__, "writestall."):
        if not found.name.endswith("__main__"):
            for name, value in vars(importlib.import_module(found.name)).items():
                if isinstance(value, Mapping):
                    yield f"{found.name}.{name}", value


FULL = {
    name: table
    for name, table in tables()
    if len(table.keys() & set(c.WAIT_CLASSES)) > len(c.WAIT_CLASSES) / 2
}


def test_the_tables_are_found() -> None:
    assert {
        f"writestall.classify.{name}" for name in ("classes.DOES", "styles.STYLES")
    } <= FULL.keys()


@pytest.mark.parametrize("name", FULL)
def test_no_table_lacks_a_class(name: str) -> None:
    assert set(c.WAIT_CLASSES) - FULL[name].keys() == set()
