# SPDX-License-Identifier: GPL-2.0-only
"""This test will open report pages in a headless browser and use them.

At three widths, with the mouse and with the keyboard alone, in light and dark, on
paper. REPORT_SHOTS=FOLDER in the environment keeps the screenshots for people to see.
"""

from __future__ import annotations

import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator

import webpage
from browser_tabs import WIDTHS, Tab, at_widths, keep, open_tab, reach
from golden_runs import unpacked
from hostile import NAMES, hostile_run
from support import PROJECT

SAMPLE = PROJECT / "analysis/writestall/sample"
RUNS = ("convoy-6.12", "journal-buffer-7.2", "gc-log-6.12")
THREE = (375, 768, 1280)
# WCAG 2.2, 1.4.3: the least contrast of text.
LEAST_CONTRAST = 4.5


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The recorded runs' pages, and one of hostile names."""
    folder = tmp_path_factory.mktemp("pages")
    made = {name: webpage.made(unpacked(name, folder)) for name in RUNS}
    hostile = hostile_run(folder / "hostile", "".join(NAMES))
    demo = shutil.copytree(SAMPLE, folder / "demo")
    syncs = unpacked("fsync-storm-6.12", folder)
    others = {"hostile": hostile, "demo": demo, "syncs": syncs}
    return made | {name: webpage.made(run) for name, run in others.items()}


# Its colours change no layout: one page in the dark.
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("name", "dark"),
    [(name, False) for name in [*RUNS, "hostile"]] + [("hostile", True)],
    ids=lambda value: value if isinstance(value, str) else ("light", "dark")[value],
)
def test_it_fits_the_screen(
    browser: Browser,
    opened: list[Tab],
    pages: dict[str, Path],
    tmp_path: Path,
    name: str,
    width: int,
    dark: bool,
) -> None:
    """Nothing overflows horizontally, and the answer is at the top."""
    tab = open_tab(browser, opened, pages[name], width, dark)
    assert tab.number("document.documentElement.scrollWidth") <= width
    answer = tab.page.locator("#answer")
    box = answer.bounding_box()
    assert answer.is_visible() and box and box["y"] < 450
    assert "stalled, worst" in tab.page.locator("header").inner_text()
    keep(tab, f"{name}-{width}-{'dark' if dark else 'light'}", tmp_path)


LABELS = """Array.from(document.querySelectorAll("details[open] .timeline"), one =>
  Array.from(one.querySelectorAll("text.axis"), text => text.getBoundingClientRect())
    .filter(box => box.width).map(box => [box.left, box.right]))"""


@pytest.mark.parametrize("name", [*RUNS, "demo"])
def test_labels_of_a_time_line_stand_apart(
    browser: Browser, opened: list[Tab], pages: dict[str, Path], name: str
) -> None:
    for _, tab in at_widths(browser, opened, pages[name], 360, 768, 1280):
        lines = tab.page.evaluate(LABELS)
        assert any(len(labels) > 1 for labels in lines)
        for labels in lines:
            for (_, right), (left, _) in pairwise(labels):
                assert right < left


# Numbers of the headline whose unit is in the next line.
BROKEN = r"""(text => Array.from(text.data.matchAll(/[\d.]+\s(ms|s|us|%)/g), found => {
  const range = document.createRange();
  range.setStart(text, found.index);
  range.setEnd(text, found.index + found[0].length);
  return [found[0], range.getClientRects().length];
}).filter(([, lines]) => lines > 1))(document.querySelector("#answer").firstChild)"""


@pytest.mark.parametrize("name", [*RUNS, "demo", "hostile"])
def test_a_number_and_its_unit_stay_in_one_line(
    browser: Browser, opened: list[Tab], pages: dict[str, Path], name: str
) -> None:
    widths = range(260, 520, 10)
    for width, tab in at_widths(browser, opened, pages[name], *widths):
        assert tab.page.evaluate(BROKEN) == [], width


# The names of lanes that an arrow's shaft or head is drawn over.
CROSSED = """Array.from(document.querySelectorAll("details[open] .timeline"), one =>
  Array.from(one.querySelectorAll("text.lane"), text => {
    const name = text.getBoundingClientRect();
    return Array.from(one.querySelectorAll("line.arrow")).filter(arrow => {
      const shaft = arrow.getBoundingClientRect(), down = arrow.y2.baseVal.value >
        arrow.y1.baseVal.value, x = shaft.left;
      if (x < name.left || x > name.right || shaft.bottom < name.top ||
          shaft.top > name.bottom) return false;
      const head = down ? [shaft.bottom - HEAD, shaft.bottom]
        : [shaft.top, shaft.top + HEAD];
      const after = text.compareDocumentPosition(arrow) & 4;
      const edge = parseFloat(getComputedStyle(text).strokeWidth);
      return after || edge < 3 || (head[0] < name.bottom && head[1] > name.top);
    }).map(() => text.textContent);
  })).flat(2)""".replace("HEAD", "8")


def test_the_name_of_a_wait_is_in_one_line(
    browser: Browser, opened: list[Tab], pages: dict[str, Path]
) -> None:
    for width, tab in at_widths(browser, opened, pages["syncs"], *THREE):
        for name in tab.visible("#by-class th"):
            box = name.bounding_box()
            assert box and box["height"] < 30, (width, name.inner_text())


@pytest.mark.parametrize("name", [*RUNS, "demo"])
def test_arrows_leave_the_names_of_lanes_legible(
    browser: Browser, opened: list[Tab], pages: dict[str, Path], name: str
) -> None:
    """A shaft is behind a name, which has an edge; no head touches one."""
    for width, tab in at_widths(browser, opened, pages[name], *THREE):
        assert tab.page.evaluate(CROSSED) == [], width


CUT = """Array.from(document.querySelectorAll("rect + text"), text =>
  [text.textContent, text.previousElementSibling.getBoundingClientRect().width,
   text.getComputedTextLength()]).filter(([name, bar]) => name && bar)"""
UNMARKED = """Array.from(document.querySelectorAll(".tree, .scroll"))
  .filter(box => box.matches(".more") != box.scrollWidth - box.clientWidth > 1)
  .length"""


@pytest.mark.parametrize("name", [*RUNS, "demo", "hostile"])
def test_nothing_is_cut_without_a_sign(
    browser: Browser, opened: list[Tab], pages: dict[str, Path], name: str
) -> None:
    """A label that is too wide has an ellipsis, and what can be scrolled fades."""
    for width, tab in at_widths(browser, opened, pages[name], *THREE):
        labels = tab.page.evaluate(CUT)
        cut = [
            text for text, _, _ in labels if text.endswith("\N{HORIZONTAL ELLIPSIS}")
        ]
        assert cut or width > 375
        assert [row for row in labels if row[2] > row[1]] == [], width
        assert tab.number(UNMARKED) == 0, width


BELOW = """(({scrollHeight, clientHeight, scrollTop}) =>
  scrollHeight - clientHeight - scrollTop > 1)(document.querySelector("#convoys"))"""


def test_a_list_that_goes_on_below_says_so(
    browser: Browser, opened: list[Tab], tmp_path: Path
) -> None:
    tab = open_tab(
        browser, opened, webpage.made(unpacked("io-max-7.2", tmp_path)), 1280
    )
    chains = tab.page.locator("#convoys")
    assert tab.page.evaluate(BELOW)
    assert chains.evaluate("box => getComputedStyle(box).maskImage") != "none"
    chains.evaluate("box => box.scrollTo(0, box.scrollHeight)")
    tab.page.locator("#convoys:not(.below)").wait_for()
    assert not tab.page.evaluate(BELOW)


def test_a_label_is_whole_again_where_there_is_room(
    browser: Browser, opened: list[Tab], pages: dict[str, Path]
) -> None:
    tab = open_tab(browser, opened, pages["demo"], 375)
    narrow = tab.page.evaluate(CUT)
    tab.page.set_viewport_size({"width": 1600, "height": 900})
    tab.page.locator("[aria-label^='heat map']:not(.more)").wait_for()
    wide = tab.page.evaluate(CUT)
    assert sum(len(row[0]) for row in wide) > sum(len(row[0]) for row in narrow)


def test_a_cell_shows_its_chains(
    browser: Browser, opened: list[Tab], pages: dict[str, Path]
) -> None:
    """A click selects the chains of the cell, and no others; a button undoes it."""
    tab = open_tab(browser, opened, pages["convoy-6.12"])
    everything = len(tab.visible(".convoy"))
    cell = tab.page.locator("#heat .cell[data-class='inode_lock']").first
    key = cell.get_attribute("data-cell")
    cell.click()
    assert cell.get_attribute("aria-pressed") == "true"
    shown = tab.visible(".convoy")
    assert 0 < len(shown) < everything
    for convoy in shown:
        assert key in (convoy.get_attribute("data-cells") or "").split()
    tree = tab.page.locator(".convoy[open] .tree")
    assert tree.is_visible() and "inode_lock" in tree.inner_text()
    rows = tab.visible("#members tbody tr")
    assert str(len(rows)) == cell.locator("text").text_content()
    tab.page.locator("#all").click()
    assert len(tab.visible(".convoy")) == everything
    assert not tab.visible("#members")


def test_the_map_can_show_roots(
    browser: Browser, opened: list[Tab], pages: dict[str, Path]
) -> None:
    """The alternative colours show the roots of the waits."""
    tab = open_tab(browser, opened, pages["convoy-6.12"])
    fill = tab.page.locator("#heat .cell rect").first
    assert fill.get_attribute("fill") == "url(#k-journal_buffer)"
    tab.page.get_by_label("root cause").check()
    assert fill.get_attribute("fill") == "url(#k-device_io)"


def focused(tab: Tab, name: str) -> str:
    """An attribute of the focused element."""
    return str(tab.page.evaluate(f"document.activeElement.getAttribute('{name}')"))


def column(cell: str) -> int:
    """The position of a cell on the time axis."""
    return int(cell.split("-")[0])


def test_the_map_by_keyboard(
    browser: Browser, opened: list[Tab], pages: dict[str, Path]
) -> None:
    """Tab to the map, arrows to a cell, Enter for its chains, Escape for all."""
    tab = open_tab(browser, opened, pages["convoy-6.12"])
    everything = len(tab.visible(".convoy"))
    reach(tab, "#heat .cell")
    first = focused(tab, "data-cell")
    tab.page.keyboard.press("ArrowRight")
    second = focused(tab, "data-cell")
    assert column(second) > column(first)
    tab.page.keyboard.press("Enter")
    assert focused(tab, "aria-pressed") == "true"
    assert len(tab.visible(".convoy")) < everything
    tab.page.keyboard.press("Escape")
    assert len(tab.visible(".convoy")) == everything
    tab.page.keyboard.press("ArrowLeft")
    assert column(focused(tab, "data-cell")) == column(first)


def width_of(tab: Tab, box: Locator) -> float:
    """A flame graph box's share of the graph's width."""
    # Not the box itself, whose size includes its clipped text.
    own = box.locator("rect").bounding_box()
    whole = tab.page.locator("#flame").bounding_box()
    assert own and whole
    return own["width"] / whole["width"]


def test_the_flame_graph_zooms(
    browser: Browser, opened: list[Tab], pages: dict[str, Path]
) -> None:
    """A click widens a box to the full width and hides its neighbours; another click
    undoes it."""
    tab = open_tab(browser, opened, pages["convoy-6.12"])
    before = len(tab.visible("#flame .box"))
    box = tab.page.locator("#flame .box", has_text="ext4_dirty_inode").last
    assert width_of(tab, box) < 0.5
    box.click()
    assert width_of(tab, box) > 0.99
    assert len(tab.visible("#flame .box")) < before
    assert "ext4_dirty_inode" in tab.page.locator("#box").inner_text()
    tab.page.locator("#unzoom").click()
    assert width_of(tab, box) < 0.5
    assert len(tab.visible("#flame .box")) == before


def test_the_flame_graph_is_searched(
    browser: Browser, opened: list[Tab], pages: dict[str, Path]
) -> None:
    """Boxes are highlighted, and their time is shown, counting nested ones once."""
    tab = open_tab(browser, opened, pages["convoy-6.12"])
    tab.page.locator("#find").fill("do_get_write_access")
    hits = tab.page.locator("#flame .box.hit")
    names = {
        hits.nth(at).locator("text").get_attribute("data-whole")
        for at in range(hits.count())
    }
    assert names == {"do_get_write_access"}
    found = tab.page.locator("#found").inner_text()
    assert found.startswith(f"{hits.count()} boxes, 9")
    tab.page.locator("#find").fill("stalled writes")
    assert (
        tab.page.locator("#found").inner_text() == "1 boxes, 100.0 % of the stall time"
    )
    tab.page.locator("#find").fill("")
    assert hits.count() == 0


def test_the_flame_graph_by_keyboard(
    browser: Browser, opened: list[Tab], pages: dict[str, Path]
) -> None:
    """Arrow down into the stack, Enter to zoom, Escape to zoom out."""
    tab = open_tab(browser, opened, pages["convoy-6.12"])
    tab.page.locator("#find").focus()
    reach(tab, "#flame .box")
    for _ in range(5):
        tab.page.keyboard.press("ArrowDown")
    assert float(focused(tab, "y")) == 5 * 18
    tab.page.keyboard.press("ArrowRight")
    aside = focused(tab, "aria-label")
    tab.page.keyboard.press("ArrowLeft")
    assert focused(tab, "aria-label") != aside
    tab.page.keyboard.press("Enter")
    assert focused(tab, "width") == "100%"
    tab.page.keyboard.press("Escape")
    assert focused(tab, "width") != "100%"
    tab.page.keyboard.press("ArrowUp")
    assert float(focused(tab, "y")) == 4 * 18


def test_chains_open_by_keyboard(
    browser: Browser, opened: list[Tab], pages: dict[str, Path]
) -> None:
    """Each chain is a native disclosure element."""
    tab = open_tab(browser, opened, pages["journal-buffer-7.2"])
    reach(tab, "#convoy-1 summary")
    tab.page.keyboard.press("Enter")
    assert tab.page.locator("#convoy-1 .timeline").is_visible()
    assert tab.page.locator("#convoy-1 .tree").is_visible()


def test_text_of_pictures_can_be_copied(
    browser: Browser, opened: list[Tab], pages: dict[str, Path]
) -> None:
    """Selected text includes the numbers of tables, trees and pictures."""
    tab = open_tab(browser, opened, pages["convoy-6.12"])
    tab.page.keyboard.press("Control+a")
    copied = str(tab.page.evaluate("String(getSelection())"))
    for words in ("27 writes stalled", "21134 ms", "journal_buffer 1211 ms", "99.9 %"):
        assert words in copied
    assert "inode_lock, held by latwriter" in copied


def test_it_prints(browser: Browser, opened: list[Tab], pages: dict[str, Path]) -> None:
    """In print: dark on light, the three slowest chains, no buttons."""
    tab = open_tab(browser, opened, pages["convoy-6.12"], 794, dark=True)
    assert tab.page.pdf().startswith(b"%PDF")
    tab.page.emulate_media(media="print")
    assert len(tab.visible(".convoy[open] .tree")) == 3
    assert not tab.visible("button")
    assert contrast(tab, "#answer") > 15
    assert tab.number("document.documentElement.scrollWidth") <= 794


_LUMINANCE = """(selector) => {
  const own = document.querySelector(selector);
  const level = (text) => text.match(/[\\d.]+/g).slice(0, 3)
    .map((value) => value / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, at) => sum + c * [0.2126, 0.7152, 0.0722][at], 0);
  const style = getComputedStyle(own);
  const ink = own instanceof SVGElement ? style.fill : style.color;
  const paper = getComputedStyle(document.body).backgroundColor;
  const [low, high] = [level(ink), level(paper)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}"""


def contrast(tab: Tab, selector: str) -> float:
    """An element's text against the page, as WCAG 2.2 defines it."""
    return float(tab.page.evaluate(_LUMINANCE, selector))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_text_can_be_read(
    browser: Browser, opened: list[Tab], pages: dict[str, Path], dark: bool
) -> None:
    """Main text, small print and axes have the required contrast."""
    tab = open_tab(browser, opened, pages["hostile"], dark=dark)
    for selector in ("#answer", ".how", "caption", "text.axis", "dt", ".lost"):
        assert contrast(tab, selector) >= LEAST_CONTRAST, selector


def test_nothing_hostile_runs(
    browser: Browser, opened: list[Tab], pages: dict[str, Path]
) -> None:
    """Names that contain scripts stay text, also where a script writes them."""
    tab = open_tab(browser, opened, pages["hostile"])
    tab.page.locator("#heat .cell").first.click()
    assert "<script>" in tab.page.locator("#members").inner_text()
    tab.page.locator("#flame .box rect").last.click()
    tab.page.locator("#find").fill("<img")
    assert tab.page.evaluate("'pwned' in window") is False
    assert tab.page.locator("img").count() == 0
    assert tab.page.locator("script").count() == 2


def test_the_policy_is_in_force(
    browser: Browser, opened: list[Tab], pages: dict[str, Path]
) -> None:
    """A script that was injected all the same would not run."""
    tab = open_tab(browser, opened, pages["hostile"])
    tab.page.evaluate("""() => {
      const script = document.createElement("script");
      script.textContent = "window.pwned = 1";
      document.body.append(script);
    }""")
    assert tab.page.evaluate("'pwned' in window") is False
    assert any("Content Security Policy" in line for line in tab.said)
    tab.said.clear()
