# SPDX-License-Identifier: GPL-2.0-only
"""browser_tabs: open pages in a headless browser, and record what they do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, sync_playwright

WIDTHS = (375, 900, 1600)
CHROMIUM = shutil.which("chromium")


@contextmanager
def launched() -> Iterator[Browser]:
    """The installed browser; its sandbox needs a user that is not root."""
    if CHROMIUM is None:
        pytest.skip("no chromium: make setup installs it")
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=options)
        yield started
        started.close()


@dataclass
class Tab:
    """An open page, with its console messages and requests."""

    page: Page
    said: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def number(self, script: str) -> float:
        """A number that the page computes."""
        return float(self.page.evaluate(script))

    def visible(self, selector: str) -> list[Locator]:
        """Elements that can be seen."""
        return [one for one in self.page.locator(selector).all() if one.is_visible()]


def open_tab(
    browser: Browser, tabs: list[Tab], path: Path, width: int = 1600, dark: bool = False
) -> Tab:
    """Opens a page from disk."""
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if dark else "light",
    )
    tab = Tab(context.new_page())
    tab.page.on("console", lambda message: tab.said.append(message.text))
    tab.page.on("pageerror", lambda error: tab.said.append(str(error)))
    tab.page.on("dialog", lambda dialog: tab.said.append(dialog.message))
    tab.page.on("request", lambda request: tab.asked.append(request.url))
    tab.page.goto(path.as_uri())
    tabs.append(tab)
    return tab


def at_widths(
    browser: Browser, tabs: list[Tab], path: Path, *widths: int
) -> Iterator[tuple[int, Tab]]:
    """One page in a window that changes its width."""
    tab = open_tab(browser, tabs, path, widths[0])
    for width in widths:
        tab.page.set_viewport_size({"width": width, "height": 900})
        yield width, tab


def keep(tab: Tab, name: str, folder: Path) -> None:
    """A screenshot of the whole page; it must show something."""
    shots = Path(os.environ.get("REPORT_SHOTS") or folder)
    shot = tab.page.screenshot(path=shots / f"{name}.png", full_page=True)
    assert len(shot) > 20_000


def reach(tab: Tab, selector: str) -> None:
    """Press Tab until the element has the focus, like a user without a mouse."""
    for _ in range(40):
        tab.page.keyboard.press("Tab")
        if tab.page.evaluate(f"document.activeElement.matches({selector!r})"):
            return
    raise AssertionError(f"{selector} cannot be reached with Tab")
