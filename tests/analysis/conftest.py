# SPDX-License-Identifier: GPL-2.0-only
"""conftest: a headless browser and its tabs, for tests of pages."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from browser_tabs import CHROMIUM, Tab


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The installed browser; its sandbox needs a user that is not root."""
    if CHROMIUM is None:
        pytest.skip("no chromium: make setup installs it")
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=CHROMIUM, args=options)
        yield started
        started.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[list[Tab]]:
    """Open tabs; check at the end that none reported an error or made a request."""
    tabs: list[Tab] = []
    yield tabs
    for tab in tabs:
        tab.page.context.close()
        assert tab.said == []
        assert len(tab.asked) == 1 and tab.asked[0].startswith("file://")
