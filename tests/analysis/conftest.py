# SPDX-License-Identifier: GPL-2.0-only
"""conftest: a headless browser and its tabs, for tests of pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from browser_tabs import Tab, launched


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The browser, started."""
    with launched() as started:
        yield started


@pytest.fixture
def opened(browser: Browser) -> Iterator[list[Tab]]:
    """Open tabs; check at the end that none reported an error or made a request."""
    tabs: list[Tab] = []
    yield tabs
    for tab in tabs:
        tab.page.context.close()
        assert tab.said == []
        assert len(tab.asked) == 1 and tab.asked[0].startswith("file://")
