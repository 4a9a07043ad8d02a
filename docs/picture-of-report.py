#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""picture-of-report: picture the report page of a recorded run as docs/report.png.

usage: PYTHONPATH=base:analysis docs/picture-of-report.py

It needs the tests' libraries, and chromium. The picture has the answer and the slowest
write of the page, in one column. No test compares it: another chromium draws other
letters.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

RUN, PICTURE = "convoy-6.12", "docs/report.png"
WIDTH_PX, DENSITY = 684, 5 / 3
ELSE = "section:has(#h-heat), .pair ~ *, .convoy ~ .convoy, footer"


def picture(page: Path) -> None:
    """Picture what is left of a page in a light, narrow window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox"] if os.geteuid() == 0 else [],
        )
        window = browser.new_page(
            viewport={"width": WIDTH_PX, "height": 100},
            device_scale_factor=DENSITY,
            color_scheme="light",
            bypass_csp=True,
        )
        window.goto(page.as_uri())
        window.add_style_tag(content=f"{ELSE} {{ display: none }}")
        window.screenshot(path=PICTURE, full_page=True)
        browser.close()


def main() -> int:
    """Make the page of the run, and picture it."""
    form = argparse.RawDescriptionHelpFormatter
    argparse.ArgumentParser(description=__doc__, formatter_class=form).parse_args()
    from writestall.cli.main import main as writestall
    from writestall.course import work

    with TemporaryDirectory(prefix="writestall-") as scratch:
        run = Path(scratch, RUN)
        work.unpack(RUN, run)
        status = writestall(["report", str(run)])
        if not status:
            picture(run / "report.html")
    return status


if __name__ == "__main__":
    sys.exit(main())
