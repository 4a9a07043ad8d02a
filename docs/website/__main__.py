# SPDX-License-Identifier: GPL-2.0-only
"""website: build the site of this tree into a folder, and check its links.

Sphinx reads Markdown as CommonMark, like the places where people read these files
without the site. Warnings are errors.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sphinx.cmd.build import build_main

from website import built, navigation, scenario_pages
from website.links import DeadLinkError
from website.staging import Stage

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[1]
EXTRA = "extra"  # files that the site holds as they are
SLIDES = "slides"  # their folder in the site, and that of their configuration here
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


def build(folder: Path, site: Path) -> list[str]:
    """Build the site, its sources in the folder; return what is wrong with it."""
    sources = folder / "sources"
    sources.mkdir()
    try:
        staged(sources)
    except DeadLinkError as error:
        return [str(error)]
    except subprocess.CalledProcessError:
        return [f"{TREE}: not a git checkout, which lists the files; git clone it"]
    if not (
        _built(sources, site, "html", "-j", "auto")
        and _built(sources, site / SLIDES, "revealjs", "-c", str(HERE / SLIDES))
    ):
        return ["Sphinx refused the pages named above"]
    (site / MARK).touch()
    return built.problems(site)


def _built(sources: Path, to: Path, builder: str, *words: str) -> bool:
    """Whether Sphinx has built all pages, without a warning."""
    strict = ["--fail-on-warning", "--keep-going", "--nitpicky", "--quiet"]
    doctrees = sources.with_name(f"doctrees-{builder}")
    words = ("-b", builder, *words, "-d", str(doctrees))
    return not build_main([*strict, *words, str(sources), str(to)])


def _refusal(out: Path) -> str:
    """Why the site cannot go there; empty where it can. Makes the folder."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        taken = any(out.iterdir()) and not (out / MARK).exists()
    except OSError as error:
        return f"{error.strerror}; name another with --out"
    return "not a site; name a new folder with --out" if taken else ""


def main() -> int:
    """Replace the folder's site, if the new one is right; return the status."""
    out: Path = _arguments().out
    if why := _refusal(out):
        print(f"writestall docs: {out}: {why}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="writestall-site-") as name:
        site = Path(name, "site")
        wrong = build(Path(name), site)
        for line in wrong:
            print(f"writestall docs: {line}", file=sys.stderr)
        if wrong:
            return 1
        shutil.rmtree(out, ignore_errors=True)
        shutil.move(site, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
