# SPDX-License-Identifier: GPL-2.0-only
"""release: check the tree, build every package, and lay them down with checksums."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from driver import unpacked
from driver.commands import setup
from driver.packaging import add_output, bill, deb, oci, sources
from driver.project import PROJECT, tool
from machine.commands import started
from writestall_base.errors import UserError

SUMS = "SHA256SUMS"
# Of the second line: 158 bytes as base64.
SECRET_KEY = 212


def _carry_out(command: list[str], what: str, folder: Path = PROJECT) -> None:
    dated = os.environ | {"SOURCE_DATE_EPOCH": str(sources.epoch_s())}
    with started(command, cwd=folder, env=dated, stdout=2) as child:
        if child.wait():
            raise UserError(f"{what} failed: see its messages above")


def _check(out: Path, version: str) -> None:
    """The quick tests."""
    _carry_out(tool("writestall", "test", "--quick"), "make check")


def _python(out: Path, version: str) -> None:
    """The wheel and the source distribution of the analysis."""
    build = [str(setup.python(("release",))), "-m", "build", "--outdir", str(out), "."]
    with tempfile.TemporaryDirectory(prefix="writestall-") as place:
        # setuptools leaves folders beside the sources.
        sources.copy(Path(place))
        _carry_out(build, "the Python package", Path(place))


def _debian(out: Path, version: str) -> None:
    deb.build(out, version)


def _container(out: Path, version: str) -> None:
    archive = oci.build(out, sorted(out.glob("*.deb")), version)
    text = oci.daemonset(archive, version)
    (out / oci.DAEMONSET.name).write_text(text)


def _sources(out: Path, version: str) -> None:
    """The tree of the last commit."""
    name = f"writestall-{version}"
    command = ["git", "archive", f"--prefix={name}/", "--format=tar.gz"]
    _carry_out([*command, f"--output={out / name}.tree.tar.gz", "HEAD"], "git archive")


def _documents(out: Path, version: str) -> None:
    """The site, where the tree has one."""
    if not re.search(r"^docs:", (PROJECT / "Makefile").read_text(), re.M):
        print("release: this tree has no make docs", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory(prefix="writestall-") as place:
        _carry_out(["make", "docs", f"OUT={place}/site"], "make docs")
        archive = str(out / f"writestall-{version}.site")
        shutil.make_archive(archive, "gztar", place, "site")


def _bills(out: Path, version: str) -> None:
    """What packages and image consist of."""
    debs, (archive,) = sorted(out.glob("*.deb")), out.glob("*.oci.tar")
    named = out / f"writestall-{version}"
    bill.write(Path(f"{named}.packages.spdx.json"), bill.packages(debs, version))
    bill.write(Path(f"{named}.image.spdx.json"), bill.image(archive, version))


STEPS: tuple[tuple[str, Callable[[Path, str], None]], ...] = (
    ("check", _check),
    ("sources", _sources),
    ("wheel, sdist", _python),
    ("deb", _debian),
    ("oci", _container),
    ("SPDX", _bills),
    ("docs", _documents),
)


def sums(folder: Path) -> str:
    """What sha256sum --check reads."""
    files = sorted(path for path in folder.iterdir() if path.name != SUMS)
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in files
    )


def sign(folder: Path, key: Path, version: str) -> None:
    """Sign the checksums by minisign, which asks a terminal for the key's password."""
    words = ["minisign", "-S", "-s", str(key), "-m", str(folder / SUMS)]
    words += ["-t", f"writestall {version}"]
    _carry_out(unpacked.command(words, [folder, key.parent]), "minisign")


def _secret_key(text: str) -> Path:
    """An argument type: a file of minisign that is no public key, by its length."""
    path = Path(text).absolute()
    lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
    if [len(line) for line in lines[1:]] != [SECRET_KEY]:
        raise argparse.ArgumentTypeError(f"{text}: not a secret key of minisign")
    return path


def arguments(parser: argparse.ArgumentParser) -> None:
    add_output(parser, "release", "new or empty folder for the artefacts")
    what = f"sign {SUMS} with this secret key of minisign"
    parser.add_argument("--key", type=_secret_key, metavar="FILE", help=what)


def main(args: argparse.Namespace) -> int:
    """Refuse a changed tree; carry out each step; print the files."""
    out, version = args.output.absolute(), sources.version()
    if sources.dirty():
        raise UserError("files differ from the last commit: commit them, then release")
    if out.exists() and any(out.iterdir()):
        raise UserError(f"{out} is not empty: remove it, or name another with -o")
    with tempfile.TemporaryDirectory(prefix="writestall-") as place:
        made = Path(place, "release")
        made.mkdir()
        for name, step in STEPS:
            print(f"release {version}: {name}", file=sys.stderr, flush=True)
            step(made, version)
        (made / SUMS).write_text(sums(made))
        if args.key:
            sign(made, args.key, version)
        shutil.copytree(made, out, dirs_exist_ok=True)
    subprocess.run(["ls", "-l", str(out)], check=True)
    return 0
