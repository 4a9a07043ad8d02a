# SPDX-License-Identifier: GPL-2.0-only
"""setup: install what this host lacks, and say so first."""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
import venv
from pathlib import Path

from driver import needs
from driver.project import PROJECT
from machine import cache
from machine.errors import UserError

# What the answer to a run and its page need.
LIBRARIES = ("msgspec", "jinja2")
ANALYSIS = ("export", "compare")  # every extra of the analysis
TESTS = (*ANALYSIS, "docs", "test")
MANAGERS = ("apt", "dnf", "pacman")
APT = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]


def _refusal(lacking: list[needs.Need], why: str) -> str:
    """A message: the packages to install by hand, per package manager."""
    lists = []
    for i, manager in enumerate(MANAGERS):
        names = " ".join(dict.fromkeys(need.package(i) for need in lacking))
        lists.append(f"  {manager}: {names}")
    return f"{why}; install these yourself, then run this again:\n" + "\n".join(lists)


def _is_debian() -> bool:
    release = Path("/etc/os-release")
    text = release.read_text() if release.exists() else ""
    like = [line.partition("=")[2].strip('"') for line in text.splitlines()
            if line.startswith(("ID=", "ID_LIKE="))]  # fmt: skip
    return "debian" in " ".join(like).split()


def packages(groups: tuple[str, ...]) -> str:
    """Install what is missing with apt, or say what to install and stop."""
    lacking = needs.missing(groups)
    if not lacking:
        return "nothing to install"
    if not _is_debian():
        raise UserError(_refusal(lacking, "this is not a Debian"))
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    if sudo and not shutil.which("sudo"):
        raise UserError(_refusal(lacking, "there is no sudo and you are not root"))
    _run_apt([*sudo, *APT, "update"], lacking)
    wanted = [need for need in lacking if not need.optional or _available(need)]
    print("set-up installs these packages:", file=sys.stderr)
    for need in wanted:
        print(f"  {need.package(0)}: {need.name} {need.why}", file=sys.stderr)
    names = list(dict.fromkeys(need.package(0) for need in wanted))
    _run_apt(
        [*sudo, *APT, "install", "--yes", "--no-install-recommends", *names], wanted
    )
    still = [need for need in needs.missing(groups) if need in wanted]
    if still:
        raise UserError(_refusal(still, "the packages lack what was missing"))
    return f"installed {', '.join(names)}"


def _run_apt(command: list[str], lacking: list[needs.Need]) -> None:
    if subprocess.run(command, stdout=2, check=False).returncode:
        raise UserError(_refusal(lacking, f"{' '.join(command)} failed"))


def _available(need: needs.Need) -> bool:
    """Whether this release of Debian has the package; report it if not."""
    show = ["apt-cache", "show", need.package(0)]
    there = subprocess.run(show, capture_output=True, check=False).returncode == 0
    if not there:
        print(f"set-up: this Debian has no {need.name}; it {need.why}", file=sys.stderr)
    return there


def _requirements(groups: tuple[str, ...]) -> list[str]:
    """The requirements in pyproject.toml, with the extras of these groups."""
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    extras = project.get("optional-dependencies", {})
    wanted = list(project.get("dependencies", []))
    for group in groups:
        wanted += extras.get(group, [])
    return wanted


def python(groups: tuple[str, ...]) -> Path:
    """The Python that has the analysis' libraries: a venv in the cache.

    Use `python -m` only: the scripts of pip name the folder in which the venv was
    made, which is renamed when the build ends.
    """
    wanted = _requirements(groups)

    def build(part: Path) -> None:
        venv.create(part, with_pip=True)
        pip = [str(part / "bin/python"), "-m", "pip", "install", "--quiet", *wanted]
        if wanted and subprocess.run(pip, stdout=2, check=False).returncode:
            raise UserError("pip could not install the requirements in pyproject.toml")

    return cache.build("venv", _key(wanted), build) / "bin/python"


def _key(wanted: list[str]) -> str:
    return cache.digest(sys.version, sys.base_prefix, *wanted)


def ready() -> str | None:
    """A Python that has the analysis' libraries already: this one, or a venv."""
    if all(importlib.util.find_spec(name) for name in LIBRARIES):
        return sys.executable
    made = cache.place("venv", _key(_requirements(()))) / "bin/python"
    return str(made) if made.exists() else None


def writestall(python: Path, *arguments: str) -> list[str]:
    """The command line of the analysis, run from its sources."""
    path = f"PYTHONPATH={PROJECT / 'analysis'}"
    return ["env", path, str(python), "-m", "writestall", *arguments]


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    what = "also what the tests need"
    parser.add_argument("--tests", action="store_true", help=what)


def main(args: argparse.Namespace) -> int:
    """Install what is missing; print the Python of the analysis."""
    groups = ("lab", "test") if args.tests else ("lab",)
    print(f"set-up: {packages(groups)}", file=sys.stderr)
    print(python(TESTS if args.tests else ()))
    return 0
