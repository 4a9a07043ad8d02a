# SPDX-License-Identifier: GPL-2.0-only
"""setup: install what this host lacks, and say so first."""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from driver import needs
from driver.project import PROJECT
from machine import cache
from writestall_base.command_line import Exported
from writestall_base.errors import UserError

# What the answer to a run and its page need.
LIBRARIES = ("msgspec", "jinja2")
ANALYSIS = ("export", "compare")  # every extra of the analysis
TESTS = (*ANALYSIS, "docs", "test")
MANAGERS = ("apt", "dnf", "pacman")
INSTALL = "WRITESTALL_INSTALL"
LOCKS = PROJECT / "lab/requirements"
BUILD = LOCKS / "build.txt"
APT = ["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]


def _refusal(lacking: list[needs.Need], why: str) -> str:
    """A message: the packages to install by hand, per package manager."""
    lists = []
    for i, manager in enumerate(MANAGERS):
        names = " ".join(dict.fromkeys(need.package(i) for need in lacking))
        lists.append(f"  {manager}: {names}")
    return f"{why}; install these yourself, then run this again:\n" + "\n".join(lists)


def _is_debian() -> bool:
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return False
    return "debian" in (release["ID"], *release.get("ID_LIKE", "").split())


def _may_install() -> bool:
    """Whether to install packages: unless $WRITESTALL_INSTALL says no."""
    said = os.environ.get(INSTALL, "") or "yes"
    if said not in ("yes", "no"):
        raise UserError(f"{INSTALL}={said}: want yes or no")
    return said == "yes"


def packages(groups: tuple[str, ...]) -> str:
    """Install what is missing with apt, or say what to install and stop."""
    lacking = needs.missing(groups)
    if not lacking:
        return "nothing to install"
    names = list(dict.fromkeys(need.package(0) for need in lacking))
    install = [*APT, "install", "--yes", "--no-install-recommends", *names]
    if not _is_debian():
        raise UserError(_refusal(lacking, "this is not a Debian"))
    sudo = [] if os.geteuid() == 0 else ["sudo"]
    if not _may_install():
        what = ", ".join(f"{need.name} ({need.why})" for need in lacking)
        run = shlex.join(["sudo", "apt-get", *install[len(APT) :]])
        raise UserError(f"{INSTALL}=no, and this host lacks {what}; run: {run}")
    if sudo and not shutil.which("sudo"):
        raise UserError(_refusal(lacking, "there is no sudo and you are not root"))
    print("set-up installs these packages:", file=sys.stderr)
    for need in lacking:
        print(f"  {need.package(0)}: {need.name} {need.why}", file=sys.stderr)
    for command in ([*APT, "update"], install):
        _run_apt([*sudo, *command], lacking)
    if still := needs.missing(groups):
        raise UserError(_refusal(still, "the packages lack what was missing"))
    return f"installed {', '.join(names)}"


def _run_apt(command: list[str], lacking: list[needs.Need]) -> None:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=2, check=False)
    if done.returncode:
        raise UserError(_refusal(lacking, f"{' '.join(command)} failed"))


def add_no_install(parser: argparse.ArgumentParser) -> None:
    what = f"install no package; name those that are missing (or {INSTALL}=no)"
    add = parser.add_argument
    add("--no-install", dest=INSTALL, action=Exported, nargs=0, const="no", help=what)


def _locks(groups: tuple[str, ...]) -> list[Path]:
    """The lists of lab/lock with the versions and hashes of these extras."""
    return [LOCKS / f"{name}.txt" for name in ("lab", *groups)]


def _pip(python: Path, locks: list[Path]) -> None:
    """Install what the lists name, and nothing else."""
    command = [str(python), "-m", "pip", "install", "--quiet", "--require-hashes"]
    command += ["--disable-pip-version-check"]
    # A source distribution is built by what build.txt has, not by what pip fetches.
    command += ["--no-build-isolation", "--no-input"]
    command += [word for path in locks for word in ("--requirement", str(path))]
    if subprocess.run(command, stdout=2, check=False).returncode:
        names = ", ".join(path.name for path in locks)
        raise UserError(f"pip could not install lab/requirements: {names}; see above")


def python(groups: tuple[str, ...]) -> Path:
    """The Python that has the analysis' libraries: a venv in the cache.

    Use `python -m` only: the scripts of pip name the folder in which the venv was
    made, which is renamed when the build ends.
    """
    locks = _locks(groups)

    def build(part: Path) -> None:
        if not needs.VENV.present():
            names = (f"{needs.VENV.package(i)} ({MANAGERS[i]})" for i in range(3))
            raise UserError(f"python3 has no venv; install {', '.join(names)}")
        import venv  # a part of that package on some systems

        venv.create(part, with_pip=True)
        for some in ([BUILD], locks):
            _pip(part / "bin/python", some)

    return cache.build("venv", _key(locks), build) / "bin/python"


def _key(locks: list[Path]) -> str:
    return cache.digest(sys.version, sys.base_prefix, BUILD, *locks)


def ready() -> str | None:
    """A Python that has the analysis' libraries already: this one, or a venv."""
    if all(importlib.util.find_spec(name) for name in LIBRARIES):
        return sys.executable
    made = cache.place("venv", _key(_locks(()))) / "bin/python"
    return str(made) if made.exists() else None


def writestall(python: Path, *arguments: str) -> list[str]:
    """The command line of the analysis, run from its sources."""
    path = f"PYTHONPATH={PROJECT / 'base'}:{PROJECT / 'analysis'}"
    return ["env", path, str(python), "-m", "writestall", *arguments]


def arguments(parser: argparse.ArgumentParser) -> None:
    what = "also what the tests need"
    parser.add_argument("--tests", action="store_true", help=what)
    add_no_install(parser)


def main(args: argparse.Namespace) -> int:
    """Install what is missing; print the Python of the analysis."""
    groups = ("lab", "test") if args.tests else ("lab",)
    print(f"set-up: {packages(groups)}", file=sys.stderr)
    print(python(TESTS if args.tests else ()))
    return 0
