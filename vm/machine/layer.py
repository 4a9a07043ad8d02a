# SPDX-License-Identifier: GPL-2.0-only
"""layer: build a disk of the packages that a job needs besides those of the image.

The machine stacks it above its root (init.sh), so that a package costs its download and
unpacking, not an image with all its modules.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from machine import cache, image, mirror
from machine.recipe import VM, Recipe
from writestall_base.errors import UserError

SCRIPT = VM / "layer.sh"
# Debian Policy, 5.6.1: Source.
PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]+")


def words(text: str) -> tuple[str, ...]:
    """Package names of a comma-separated list; refuse what can be none."""
    names = tuple(name for name in text.split(",") if name)
    for name in names:
        if not PACKAGE.fullmatch(name):
            why = f"package {name!r}: want the name of a Debian package"
            raise argparse.ArgumentTypeError(why)
    return names


def _key(recipe: Recipe, names: Iterable[str]) -> str:
    # As for the image, the mirror's contents are not an input.
    return cache.digest(image.tree(recipe).name, SCRIPT, *names)


def disk(recipe: Recipe, packages: Iterable[str]) -> Path | None:
    """The layer with these packages; None where none is asked for."""
    names = sorted(set(packages))
    if not names:
        return None
    tree = image.tree(recipe)

    def build(part: Path) -> None:
        with cache.locked(cache.root() / "layers"):
            _install(recipe, tree, part, names)
        part.chmod(0o444)

    done = cache.build("layer", _key(recipe, names), build)
    cache.prune("layer", done)
    return done


def _install(recipe: Recipe, tree: Path, part: Path, names: list[str]) -> None:
    """Run the script; APT gets the mirror and the settings of this machine."""
    sources = f"deb [signed-by=/run/keyring] {mirror.mirror()}"
    options = [f"{option.removesuffix(';')};" for option in _options()]
    with tempfile.TemporaryDirectory(prefix="writestall-") as folder:
        files = {
            "sources.list": f"{sources} {recipe.userland_suite} main\n",
            "apt.conf": "".join(f"{option}\n" for option in options),
        }
        for name, text in files.items():
            Path(folder, name).write_text(text)
        places = [str(Path(folder, name)) for name in files]
        command = [*image.as_owner(), str(SCRIPT), str(tree), str(part)]
        command += [str(cache.root() / "layers"), str(mirror.keyring()), *places]
        try:
            image.logged([*command, "--", *names])
        except UserError as error:
            raise UserError(f"packages {', '.join(names)}: {error}") from None


def _options() -> list[str]:
    """APT's settings: this machine's own, and the places of layer.sh."""
    return [
        *mirror.apt_options(),
        'Dir::Etc::SourceList "/run/sources.list"',
        'Dir::Etc::SourceParts "/dev/null"',
        'APT::Sandbox::User "root"',
        'APT::Keep-Downloaded-Packages "true"',
        'Acquire::Languages "none"',
        'DPkg::Options:: "--force-confdef"',
    ]
