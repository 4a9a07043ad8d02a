# SPDX-License-Identifier: GPL-2.0-only
"""test_recipe: check which image has a kernel, and that small images stay small."""

from __future__ import annotations

import re

import pytest

import support  # noqa: F401 (puts vm/ on the path)
from machine import image, recipe
from writestall_base.errors import UserError

DEFAULT, FULL = recipe.load(), recipe.load(full=True)
ON_DEMAND = sorted(set(FULL.kernels) - set(DEFAULT.kernels))


def test_the_default_image_has_no_kernel_on_demand_and_no_tool_of_measurements() -> (
    None
):
    assert ON_DEMAND, "no kernel is on demand: this test holds nothing"
    assert set(DEFAULT.packages) < set(FULL.packages)


@pytest.mark.parametrize("name", FULL.kernels)
def test_a_kernel_comes_in_the_smallest_image_that_has_it(name: str) -> None:
    known = recipe.load(name)
    assert known.kernel == name
    assert known.full == (name in ON_DEMAND)


@pytest.mark.parametrize("name", ["2.4", ""])
def test_an_unknown_kernel_gets_the_whole_list(name: str) -> None:
    known = re.escape(", ".join(FULL.kernels))
    with pytest.raises(UserError, match=f"unknown kernel '{name}': .* {known};"):
        recipe.load(name)


def test_the_kernels_on_demand_are_tested_when_all_are_asked_for() -> None:
    assert recipe.tested() == tuple(DEFAULT.kernels)
    assert recipe.tested(every=True) == tuple(FULL.kernels)


def test_the_images_are_kept_apart_and_neither_knows_of_the_others_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is on demand can change without a rebuild of the default image."""

    def keys() -> list[str]:
        return [image._tree_key(recipe.load(full=full)) for full in (False, True)]

    before = keys()
    assert before[0] != before[1]
    packages = recipe._packages

    def one_more(name: str) -> tuple[str, ...]:
        return packages(name) + (("hello",) if name == "packages-full.txt" else ())

    monkeypatch.setattr(recipe, "_packages", one_more)
    assert keys()[0] == before[0]
    assert keys()[1] != before[1]
