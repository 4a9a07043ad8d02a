# SPDX-License-Identifier: GPL-2.0-only
"""This test will build the site as `make docs` does, and follow its links."""

from __future__ import annotations

import fcntl
import os
import re
import subprocess
import sys
from itertools import product
from pathlib import Path, PurePosixPath

import pytest
from PIL import Image

from browser_tabs import launched, open_tab
from support import PROJECT
from website import built, slowest
from website.links import DeadLinkError, Page, rewritten

SCENARIOS = sorted(path.stem for path in (PROJECT / "repro/scenarios").glob("*.toml"))
PLACE = PurePosixPath("docs/page.md")


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
    path = ":".join(str(PROJECT / name) for name in ("base", "docs", "analysis"))
    done = subprocess.run(
        [sys.executable, "-m", "website", "--out", str(part)],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    part.rename(out)


def test_every_document_has_a_page(site: Path) -> None:
    for path in (PROJECT / "docs").rglob("*.md"):
        assert (site / path.relative_to(PROJECT)).with_suffix(".html").exists()
    first = (site / "index.html").read_text()
    assert "which lock the write waits" in " ".join(first.split())


def test_every_scenario_has_a_page_and_its_picture(site: Path) -> None:
    drawn = 0
    for name in SCENARIOS:
        page = (site / f"scenarios/{name}.html").read_text()
        assert f"SCENARIO={name}" in page
        drawn += f"../runs/{name}.svg" in page
        assert f"../runs/{name}.html" in page
    # `healthy` is the one without a stall.
    assert drawn == len(SCENARIOS) - 1 > 30


def test_the_page_of_page_lock_shows_a_page_lock(site: Path) -> None:
    """Its run on 6.12 waits for the journal first."""
    said = re.sub("<[^>]+>", "", (site / "scenarios/page-lock.html").read_text())
    first = re.search(r"^\+- (.*)$", said, re.M)
    assert first and re.match(r"\d+ ms page_lock ", first[1])


def test_a_folder_that_is_no_site_is_kept(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("must survive")
    done = subprocess.run(
        [PROJECT / "writestall", "docs", "--out", tmp_path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.endswith("not a site; name a new folder with --out\n")
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


# Pages of each kind: the first, wide tables, pictures, long lines of code, a file.
KINDS = (
    *("index.html", "docs/questions/errors.html", "docs/comparison.html"),
    *("docs/concepts/README.html", "scenarios/page-lock.html"),
    *("docs/export.html", "file/docs/events.schema.json.html"),
)


WIDTHS = (360, 768, 1280)


def test_no_page_scrolls_sideways(site: Path, tmp_path: Path) -> None:
    """Of each kind one; all, and their screenshots, with SITE_SHOTS=FOLDER."""
    shots = os.environ.get("SITE_SHOTS")
    every = [str(path.relative_to(site)) for path in site.rglob("*.html")]
    with launched() as browser:
        for name, width in product(every if shots else KINDS, WIDTHS):
            tab = open_tab(browser, [], site / name, width)
            assert tab.number("document.documentElement.scrollWidth") <= width, name
            assert tab.said == []
            assert all(url.startswith(("file:", "data:")) for url in tab.asked), name
            picture = f"{name.replace('/', '_')}-{width}.png"
            tab.page.screenshot(path=Path(shots or tmp_path, picture))
            tab.page.context.close()


SLIDES = "slides/docs/course/teacher/slides.html"
# What of a slide is below it or beside it, and text cut within its own box.
CUT = """(() => {
  const slide = Reveal.getCurrentSlide(), {width, height} = Reveal.getConfig();
  const wide = Array.from(slide.querySelectorAll("pre, code, table, img"))
    .filter(box => box.scrollWidth > width || box.scrollWidth > box.clientWidth + 1
      && getComputedStyle(box).display != "inline");
  return wide.length + Number(slide.scrollHeight > height);
})()"""


def test_every_slide_shows_all_that_is_on_it(site: Path) -> None:
    headings = re.findall(
        r"^##? (.*)$", (PROJECT / "docs/course/teacher/slides.md").read_text(), re.M
    )
    with launched() as browser:
        tab = open_tab(browser, [], site / SLIDES, 1280)
        tab.page.wait_for_function("window.Reveal && Reveal.isReady()")
        assert tab.number("Reveal.getTotalSlides()") == len(headings) > 15
        for number, heading in enumerate(headings):
            tab.page.evaluate(f"Reveal.slide({number})")
            assert tab.number(CUT) == 0, heading
        assert tab.said == []
        assert all(url.startswith(("file:", "data:")) for url in tab.asked)


# Pictures wider than the box that they scroll in, and how many of these say so.
WIDE = """Array.from(document.querySelectorAll(".wide, .content p:has(> img)"))
  .filter(box => box.scrollWidth > box.clientWidth + 1)"""
UNMARKED = f"""{WIDE}.filter(box => getComputedStyle(box, "::after").content == "none")
  .length"""


@pytest.mark.parametrize(
    "name", ["index.html", "docs/concepts/README.html", "scenarios/page-lock.html"]
)
def test_a_picture_that_is_cut_says_so(site: Path, name: str) -> None:
    with launched() as browser:
        narrow = open_tab(browser, [], site / name, 375)
        assert narrow.number(f"{WIDE}.length") > 0
        assert narrow.number(UNMARKED) == 0
        for width in (768, 1280):
            wide = open_tab(browser, [], site / name, width)
            assert wide.number(f"{WIDE}.length") == 0


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_pictures_of_concepts_have_the_paper_of_the_page(
    site: Path, tmp_path: Path, dark: bool
) -> None:
    with launched() as browser:
        page = site / "docs/concepts/README.html"
        tab = open_tab(browser, [], page, 1280, dark)
        shot = tmp_path / "picture.png"
        tab.page.locator(".content img").first.screenshot(path=shot)
        with Image.open(shot) as picture:
            corner = picture.convert("L").getpixel((2, 2))
    assert isinstance(corner, int)
    assert (corner < 64) == dark


def address(place: PurePosixPath) -> str:
    return f"/{place}"


def rewritten_here(text: str) -> str:
    """The text as a page of docs/, in a tree of two files."""
    known = {PurePosixPath("docs/other.md"), PurePosixPath("kmod/main.c")}
    return rewritten(Page(PLACE, known.__contains__), text, address)


@pytest.mark.parametrize(
    ("text", "link"),
    {
        "[it](other.md)": "[it](/docs/other.md)",
        "[two\nlines](other.md#a)": "[two\nlines](/docs/other.md#a)",
        "[code](../kmod/main.c)": "[code](/kmod/main.c)",
        "see docs/other.md.": "see [docs/other.md](/docs/other.md).",
        "`kmod/main.c`": "[`kmod/main.c`](/kmod/main.c)",
        "`cat kmod/main.c` other.c": "`cat kmod/main.c` other.c",
        "[web](https://example.org/other.md)": "[web](https://example.org/other.md)",
        "```\n[it](gone.md)\n```\n": "```\n[it](gone.md)\n```\n",
        "so:\n\n    docs/other.md\n": "so:\n\n    docs/other.md\n",
    }.items(),
)
def test_links_are_rewritten_outside_code(text: str, link: str) -> None:
    assert rewritten_here(text) == link


def test_a_dead_link_is_refused() -> None:
    with pytest.raises(DeadLinkError, match=r"docs/page.md: gone.md: no such file"):
        rewritten_here("[it](gone.md)")


def test_dead_links_and_requests_of_a_built_page_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="here"></h1><a href="#here"></a><a href="#gone"></a>'
        '<a href="b.html#here"></a><img src="//example.org/a.png">'
    )
    assert built.problems(tmp_path) == [
        "a.html: //example.org/a.png: fetched from the network",
        "a.html: #gone: no such anchor",
        "a.html: b.html#here: no such file",
    ]


def test_a_page_without_a_stall_has_no_picture() -> None:
    assert slowest.picture("<svg class='other'></svg>") is None
