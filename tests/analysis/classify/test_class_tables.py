# SPDX-License-Identifier: GPL-2.0-only
"""This test will look up each wait class in each table that has a row for most."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

import writestall
import writestall_base
from writestall_base import wait_classes as c


def tables() -> Iterator[tuple[str, Mapping[Any, Any]]]:
    """The mappings that stand in modules of the packages, by name."""
    for package in (writestall, writestall_base):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
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
        "writestall_base.wait_classes.DOES",
        "writestall.classify.styles.STYLES",
    } <= FULL.keys()


@pytest.mark.parametrize("name", FULL)
def test_no_table_lacks_a_class(name: str) -> None:
    assert set(c.WAIT_CLASSES) - FULL[name].keys() == set()
