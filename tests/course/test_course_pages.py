# SPDX-License-Identifier: GPL-2.0-only
"""This test will do what the pages of docs/course say, on recorded runs.

Lines that begin with "$ " are run, and what the page prints below them must be printed,
"..." standing for any lines. Every other command must be one that the program takes.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import PROJECT
from writestall.cli.commands import COMMANDS
from writestall.cli.main import main
from writestall.cli.parser import command_parser
from writestall.course import tables
from writestall_base.wait_classes import DOES

Capture = pytest.CaptureFixture[str]
FOLDER = PROJECT / "docs/course"
PAGES = sorted(path.relative_to(FOLDER) for path in FOLDER.rglob("*.md"))
LAB_PAGES = [lab.page for lab in tables.labs()]
BLOCK = re.compile(r"^```\n(.*?)^```$", re.M | re.S)
# A command in a fenced block, an indented one, or a sentence.
COMMAND = re.compile(
    r"^(?:    )?\./writestall ([^`\n]*)$|`\./writestall ([^`]*)`", re.M
)
LINK = r"\]\((lessons/[0-9a-z-]+\.txt)\)"
SECTIONS = """
    Predict Run Look Read|the|source Questions Change|one|thing Mystery Answers
""".split()


def steps(text: str) -> Iterator[tuple[list[str], list[str]]]:
    """The commands of a page that are run, and the lines that it prints of each."""
    for block in BLOCK.findall(text):
        for step in re.split(r"^\$ \./writestall ", block, flags=re.M)[1:]:
            command, *lines = step.splitlines()
            yield shlex.split(command), lines


def assert_printed(shown: str, wanted: list[str]) -> None:
    lines = iter(shown.splitlines())
    for line in wanted:
        assert line == "..." or line in lines, f"{line!r} is not printed, or not there"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_a_page_s_commands_print_what_it_shows(
    page: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (FOLDER / page).read_text()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "answers").mkdir()
    for words, wanted in steps(text):
        main(words)
        shown = capsys.readouterr()
        assert shown.err == "", words
        assert_printed(shown.out, wanted)
    for found in COMMAND.finditer(text):
        command = shlex.split(found[1] or found[2], comments=True)
        known = COMMANDS[command[0]]
        at = command.index("--") if known.tail and "--" in command else len(command)
        command_parser(known).parse_args(command[1:at])


@pytest.mark.parametrize("page", LAB_PAGES[:4])
def test_a_lesson_printed_what_its_page_shows(page: str) -> None:
    """Labs 1 to 4 begin with lessons; what they printed is in files."""
    text = (FOLDER / page).read_text()
    lesson = text.partition("**First a script of your own.**")[2].partition(
        "**Text.**"
    )[0]
    shown = BLOCK.findall(lesson)
    printed = [(FOLDER / name).read_text() for name in re.findall(LINK, lesson)]
    assert shown and printed
    for block in shown:
        assert_printed(printed[0], block.splitlines())


@pytest.mark.parametrize("page", LAB_PAGES)
def test_a_lab_has_all_its_parts(page: str) -> None:
    text = (FOLDER / page).read_text()
    lab = next(lab for lab in tables.labs() if lab.page == page)
    assert text.splitlines()[1] == f"# Lab {lab.number}: {lab.title}"
    assert f"\n{lab.minutes} minutes. " in text
    assert re.findall(r"^## (.*)$", text, re.M) == [
        name.replace("|", " ") for name in SECTIONS
    ]
    source = text.partition("## Read the source\n")[2].partition("\n## ")[0]
    assert len(re.findall(r"^- `[a-z0-9/_-]+\.c`, `\w+\(\)`", source, re.M)) >= 3
    # Answers are folded away, and the lab's own question is answered.
    answers = text.partition("## Answers\n")[2]
    assert answers.count("<details>") == answers.count("</details>") == 2
    assert f"$ ./writestall course answer {lab.number} " in answers
    assert "course answer" not in text.partition("## Answers\n")[0]


def test_slides_say_what_the_pages_say() -> None:
    """Each line of an excerpt, and each number with a unit or a comma."""
    slides = (FOLDER / "teacher/slides.md").read_text()
    pages = "\n".join((FOLDER / page).read_text() for page in LAB_PAGES)
    for block in BLOCK.findall(slides):
        for line in block.splitlines():
            assert line in pages
    prose = BLOCK.sub("", slides)
    numbers = re.findall(r"\d[\d.]* (?:s|ms|calls|bytes)\b|\d+,\d+", prose)
    assert len(numbers) > 8
    for number in numbers:
        assert number.replace("bytes", "B") in pages.replace("bytes", "B"), number


@pytest.mark.parametrize("lab", tables.labs(), ids=lambda lab: str(lab.number))
def test_the_timetable_sums_up(lab: tables.Lab) -> None:
    text = (FOLDER / "teacher/README.md").read_text()
    row = re.search(rf"^\| {lab.number} [A-Za-z ]+ \|([0-9 |]+)\|$", text, re.M)
    assert row
    slides, *parts, in_all = map(int, row[1].split("|"))
    assert sum(parts) == lab.minutes
    assert in_all == lab.minutes + slides
    # From the heading of its first slide to that of the next lab.
    after = (
        (FOLDER / "teacher/slides.md").read_text().partition(f"## Lab {lab.number}:")
    )
    own = re.split(r"^## (?:Lab |What to keep)", after[2], maxsplit=1, flags=re.M)[0]
    assert slides == 2 * (1 + len(re.findall("^## ", own, re.M)))


def test_the_first_page_names_every_lab() -> None:
    text = (FOLDER / "README.md").read_text()
    for lab in tables.labs():
        row = f"| {lab.number} | [{lab.title}]({lab.page}) | {lab.minutes} |"
        assert row in text


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page: Path) -> None:
    place = FOLDER / page
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", place.read_text()):
        assert (place.parent / link).exists(), link


@pytest.mark.parametrize("page", LAB_PAGES)
def test_a_lab_begins_with_the_picture_of_its_idea(page: str) -> None:
    before = (FOLDER / page).read_text().partition("\n## Predict\n")[0]
    assert re.search(r"^!\[[^]]+\]\(\.\./concepts/[a-z-]+\.svg\)$", before, re.M)
    link = re.search(r"\]\(\.\./concepts/README\.md#([a-z_-]+)\)", before)
    assert link
    concepts = (PROJECT / "docs/concepts/README.md").read_text()
    headings = re.findall(r"^## (.*)$", concepts, re.M)
    assert link[1] in {re.sub(r"[^a-z_]+", "-", one.lower()) for one in headings}


def test_the_concepts_begin_with_the_whole_stall_and_name_every_class() -> None:
    text = (PROJECT / "docs/concepts/README.md").read_text()
    assert "](stall.svg)" in text.partition("\n## ")[0]
    for name, does in DOES.items():
        assert f"| `{name}` | {does}" in text
