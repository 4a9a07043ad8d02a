# SPDX-License-Identifier: GPL-2.0-only
"""deb: build the Debian packages."""

from __future__ import annotations

import argparse
import re
import shutil
import tempfile
from email.utils import formatdate
from pathlib import Path

from driver.packaging import RECIPES, add_output, sources, trees, wheels

NOT_PACKAGED = ("lab", "vm", "tests", "out", ".ci")
CHANGELOG = """writestall ({version}) unstable; urgency=medium

  * See CHANGELOG.md of the sources.

 -- {maintainer}  {date}
"""


def _maintainer() -> str:
    lines = (RECIPES / "debian/control").read_text().splitlines()
    (found,) = (line for line in lines if line.startswith("Maintainer: "))
    return found.removeprefix("Maintainer: ")


def _sources(folder: Path, version: str) -> None:
    """Lay down the tree as dpkg-buildpackage wants it: debian/ at the top."""
    sources.copy(folder)
    sources.stamp(folder, version)
    for name in NOT_PACKAGED:
        shutil.rmtree(folder / name, ignore_errors=True)
    shutil.copytree(folder / "packaging/debian", folder / "debian")
    # In the tree it is no program for a user to start.
    (folder / "debian/rules").chmod(0o755)
    shutil.copytree(wheels.unpacked(), folder, dirs_exist_ok=True)
    date = formatdate(sources.epoch_s())
    text = CHANGELOG.format(version=version, maintainer=_maintainer(), date=date)
    (folder / "debian/changelog").write_text(text)


def build(out: Path, version: str, *, judged: bool = True) -> list[Path]:
    """Build the packages into a folder; return them."""
    out.mkdir(parents=True, exist_ok=True)
    for old in out.glob("*.deb"):
        old.unlink()
    with tempfile.TemporaryDirectory(prefix="writestall-") as name:
        folder = Path(name)
        _sources(folder / "sources", version)
        (folder / "out").mkdir()
        words = version, str(sources.epoch_s()), "lintian" if judged else ""
        trees.carry_out(RECIPES / "build-deb.sh", trees.workshop(), folder, *words)
        for made in (folder / "out").iterdir():
            shutil.copy(made, out)
    return sorted(out.glob("*.deb"))


def a_version(text: str) -> str:
    """An argument type: numbers with dots between."""
    if not re.fullmatch(r"\d+(\.\d+)+", text):
        raise argparse.ArgumentTypeError(f"{text!r}: want a version, like 0.1.0")
    return text


def arguments(parser: argparse.ArgumentParser) -> None:
    add_output(parser, "deb", "folder for the packages")
    other = "call the packages by that version, to try an upgrade"
    parser.add_argument("--version", type=a_version, metavar="V", help=other)


def main(args: argparse.Namespace) -> int:
    """Build, and print the packages."""
    for path in build(args.output, args.version or sources.version()):
        print(path)
    return 0
