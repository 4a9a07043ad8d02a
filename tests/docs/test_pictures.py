# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare the pictures of the concepts with what they are made from."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from support import PROJECT
from writestall.classify.styles import Family

PROGRAM = "docs/render-pictures.py"
FILES = (PROGRAM, "docs/rendering.py", "docs/concepts/pictures.toml")
PAGE = PROJECT / "docs/concepts/README.md"
TABLE = tomllib.loads((PROJECT / FILES[2]).read_text())


def render(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the program of that tree."""
    command = [sys.executable, str(tree / PROGRAM), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_pictures_are_those_described() -> None:
    done = render(PROJECT, "--check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_every_picture_is_shown_under_its_title() -> None:
    shown = dict(re.findall(r"!\[(.*)\]\((.*)\)", PAGE.read_text()))
    titles = {row["title"]: f"{name}.svg" for name, row in TABLE["picture"].items()}
    assert shown == titles
    for name in titles.values():
        ElementTree.parse(PAGE.with_name(name))


def test_the_colours_are_those_of_the_report() -> None:
    families = {family.name.lower(): family.value[0] for family in Family}
    used = {
        name: colour for name, colour in TABLE["colours"].items() if name != "paper"
    }
    assert used.items() <= families.items()


LIGHT, DARK = "#1b1b1b", "prefers-color-scheme: dark"
# What stands on a bar or in a box, which keep their colours, and what on the paper.
KINDS = {"": "on a colour", "beside": "on the paper", "dim": "on the paper"}


@pytest.mark.parametrize("name", TABLE["picture"])
def test_a_dark_screen_has_dark_paper_and_light_letters(name: str) -> None:
    text = PAGE.with_name(f"{name}.svg").read_text()
    dark = text.partition(DARK)[2].partition("</style>")[0]
    assert {".paper", ".dim", ".beside", ".line", ".tip"} <= set(
        re.findall(r"\.\w+", dark)
    )
    assert LIGHT not in dark
    assert set(re.findall(r'<text[^>]*?(?: class="(\w+)")?[^>]*>', text)) <= set(KINDS)
    lanes = TABLE["picture"][name].get("lanes", [])
    assert text.count('class="beside"') == len(lanes)


def test_a_label_that_does_not_fit_is_refused(tmp_path: Path) -> None:
    for name in FILES:
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(PROJECT / name, tmp_path / name)
    table = tmp_path / FILES[2]
    table.write_text(table.read_text().replace('"locks folios"', f'"{"locks " * 9}"'))
    done = render(tmp_path)
    assert done.returncode == 1
    assert "is wider than" in done.stderr
