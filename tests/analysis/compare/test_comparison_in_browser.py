# SPDX-License-Identifier: GPL-2.0-only
"""This test will open a comparison's page in a headless browser and use it.

REPORT_SHOTS=FOLDER in the environment keeps the screenshots for people to see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from test_page_of_comparison import made

from browser_tabs import WIDTHS, Tab, keep, open_tab, reach
from comparisons import QUICK, SLOW, Made


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A page of three options, one of which was never run."""
    folder = tmp_path_factory.mktemp("compared") / "c"
    yield made(folder, {"slow": SLOW, "quick": QUICK, "gone": [None]})


def order(tab: Tab) -> list[str]:
    """The options as the table has them now."""
    heads = tab.page.locator("#options tbody th").all()
    return [head.inner_text().split("\n")[0] for head in heads]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_it_fits_the_screen(
    browser: Browser,
    opened: list[Tab],
    page: Path,
    tmp_path: Path,
    width: int,
    dark: bool,
) -> None:
    """Nothing overflows horizontally, and the answer is at the top."""
    tab = open_tab(browser, opened, page, width, dark)
    assert tab.number("document.documentElement.scrollWidth") <= width
    box = tab.page.locator("#answer").bounding_box()
    assert box and box["y"] < 200
    assert len(tab.visible(".map")) == 2
    assert len(tab.visible(".graph")) == 1  # of the one on which writes stalled
    keep(tab, f"compare-{width}-{'dark' if dark else 'light'}", tmp_path)


def test_the_sheet_is_one_screen_and_one_printed_page(
    browser: Browser, opened: list[Tab], tmp_path: Path
) -> None:
    """Eight options, judged: no column is off screen at 1280 px, with all that a
    person signs above the fold, and the tables begin on the second page of paper."""
    options = {f"option-{number}": SLOW for number in range(7)}
    wanted: dict[str, Sequence[Made | None]]
    wanted = {"base": SLOW, "base-again": SLOW, **options}
    path = made(tmp_path / "c", wanted, "--objective", "over 65ms < 2%")
    tab = open_tab(browser, opened, path, 1280)
    assert tab.number("document.documentElement.scrollWidth") <= 1280
    wide = "(one => one.scrollWidth - one.clientWidth)"
    assert tab.number(f"{wide}(document.querySelector('#sheet .scroll'))") == 0
    box = tab.page.locator("#sheet").bounding_box()
    assert box and box["y"] + box["height"] <= 900
    tab.page.emulate_media(media="print")
    tab.page.set_viewport_size({"width": 718, "height": 1046})  # A4, margins of 10 mm
    box = tab.page.locator("#sheet").bounding_box()
    assert box and box["y"] + box["height"] <= 1046
    table = tab.page.locator("#decision").bounding_box()
    assert table and table["x"] + table["width"] <= 718


def test_a_head_sorts_its_column(
    browser: Browser, opened: list[Tab], page: Path
) -> None:
    """First click ascending, second descending; options without numbers come last."""
    tab = open_tab(browser, opened, page)
    assert order(tab) == ["quick", "slow", "gone"]
    head = tab.page.locator("#options thead th", has_text="stall s/h")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert order(tab) == ["quick", "slow", "gone"]
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert order(tab) == ["slow", "quick", "gone"]
    assert len(tab.visible("[aria-sort]")) == 1


def test_it_sorts_by_keyboard(browser: Browser, opened: list[Tab], page: Path) -> None:
    """A column header is a native button."""
    tab = open_tab(browser, opened, page)
    reach(tab, "#options thead button")
    tab.page.keyboard.press("Enter")
    tab.page.keyboard.press("Enter")
    assert tab.page.locator("[aria-sort=descending]").count() == 1


def test_maps_stand_side_by_side_and_are_equal(
    browser: Browser, opened: list[Tab], page: Path
) -> None:
    """Same size, same height of the objective's line; maps do not overlap."""
    tab = open_tab(browser, opened, page)
    first, second = (one.bounding_box() for one in tab.visible(".map"))
    assert first and second
    assert first["y"] == second["y"]
    assert first["width"] == pytest.approx(second["width"], abs=0.1)
    assert first["x"] + first["width"] <= second["x"]
    lines = [line.bounding_box() for line in tab.page.locator(".slo").all()]
    assert len({line["y"] for line in lines if line}) == 1
    for map_, box in zip(tab.visible(".map"), (first, second), strict=True):
        for cell in map_.locator("rect").all():
            inside = cell.bounding_box()
            assert inside and inside["x"] >= box["x"]
            assert inside["x"] + inside["width"] <= box["x"] + box["width"] + 1


def test_it_prints(browser: Browser, opened: list[Tab], page: Path) -> None:
    """The printed table is complete."""
    tab = open_tab(browser, opened, page, 1050, dark=True)
    assert tab.page.pdf(landscape=True).startswith(b"%PDF")
    tab.page.emulate_media(media="print")
    table = tab.page.locator("#options").bounding_box()
    assert table and table["x"] + table["width"] <= 1050
