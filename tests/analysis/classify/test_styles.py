# SPDX-License-Identifier: GPL-2.0-only
"""This test will check the table of letters, colours, patterns and meanings."""

from __future__ import annotations

import re

from support import PROJECT
from writestall.classify.styles import STYLES, Family, palette_css
from writestall.export.tables import AMOUNTS
from writestall_base import wait_classes as c

PACKAGE = PROJECT / "analysis/writestall"
COLOUR = re.compile(r"#[0-9a-f]{6}\b")


def test_every_class_has_a_letter_of_its_own() -> None:
    letters = [style.letter for style in STYLES.values() if style.letter]
    assert len(letters) == len(set(letters))
    drawn = {name for name, style in STYLES.items() if style.letter}
    assert drawn == {*AMOUNTS, *c.USER_WAITS, c.SHORT_SLEEPS}


def test_no_two_kinds_share_colour_and_pattern() -> None:
    drawn = {(style.family, style.pattern) for style in STYLES.values()}
    hatched = {(style.colour, style.hatch) for style in STYLES.values()}
    assert len(drawn) == len(hatched) == len(STYLES)


def test_no_other_file_has_a_colour_of_the_table() -> None:
    ours = {colour for family in Family for colour in family.value}
    assert ours == set(COLOUR.findall(palette_css()))
    code = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.html"), *PACKAGE.rglob("*.js")]
    named = [p.name for p in code if ours & set(COLOUR.findall(p.read_text()))]
    assert named == ["styles.py"]
    sheets = "".join(path.read_text() for path in PACKAGE.rglob("*.css"))
    assert not [one for one in Family if f"--{one.name.lower()}:" in sheets]


def test_the_documentation_has_the_table() -> None:
    """docs/export.md: one row for each kind of time that has a letter."""
    rows = [
        f"| {style.letter} | `{style.name}` | {style.family.name.lower()} "
        f"| {style.pattern.name.lower()} | {style.words} |"
        for style in STYLES.values()
        if style.letter
    ]
    assert "\n".join(rows) in (PROJECT / "docs/export.md").read_text()
