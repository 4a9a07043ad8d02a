# SPDX-License-Identifier: GPL-2.0-only
"""website: build the site of this tree into a folder, and check its links.

Sphinx reads Markdown as CommonMark, like the places where people read these files
without the site. Warnings are errors.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import build_main

from website import built, navigation, scenario_pages
from website.staging import Stage

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[1]
EXTRA = "extra"  # files that the site holds as they are
MARK = ".writestall-site"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="website", description=__doc__)
    where = "folder of the site: new, or one that this program has made"
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help=where)
    return parser.parse_args()


def staged(folder: Path) -> None:
    """Write the sources of the site: pages, files of the tree, navigation."""
    stage = Stage(TREE, folder)
    stage.take_documents()
    scenario_pages.write(stage, folder / EXTRA / "runs")
    stage.take_linked()
    navigation.write(stage)
    shutil.copy(HERE / "conf.py", folder)
    shutil.copytree(HERE / "static", folder / "_static")


def build(out: Path) -> list[str]:
    """Build the site; return what is wrong with it."""
    with tempfile.TemporaryDirectory(prefix="writestall-site-") as name:
        sources, cache = Path(name, "sources"), Path(name, "doctrees")
        sources.mkdir()
        staged(sources)
        strict = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"]
        words = [*strict, "-b", "html", "-j", "auto", "-d", str(cache)]
        if build_main([*words, str(sources), str(out)]):
            return ["Sphinx refused the pages named above"]
    (out / MARK).touch()
    return built.problems(out)


def main() -> int:
    """Replace the folder's site; return the status."""
    out: Path = _arguments().out
    if out.exists() and any(out.iterdir()):
        if not (out / MARK).exists():
            why = f"writestall docs: {out}: not a site; name a new folder with --out"
            print(why, file=sys.stderr)
            return 2
        shutil.rmtree(out)
    wrong = build(out)
    for line in wrong:
        print(f"writestall docs: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
