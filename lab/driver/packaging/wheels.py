# SPDX-License-Identifier: GPL-2.0-only
"""wheels: fetch the wheels of packaging/libraries.toml and unpack them."""

from __future__ import annotations

import subprocess
import tempfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath
from typing import Any

from driver.commands import setup
from driver.packaging import RECIPES
from machine import cache
from writestall_base.errors import UserError

TABLE = RECIPES / "libraries.toml"
PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64")


def _fetch(wheel: dict[str, Any], folder: Path) -> Path:
    """Download one wheel; pip compares its checksum."""
    python = wheel["python"].replace(".", "")
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as wanted:
        wanted.write(f"{wheel['requirement']} --hash=sha256:{wheel['sha256']}\n")
        wanted.flush()
        command = [str(setup.python(())), "-m", "pip", "download", "--quiet"]
        command += ["--no-deps", "--only-binary", ":all:", "--require-hashes"]
        command += ["--implementation", "cp", "--python-version", python]
        command += [word for name in PLATFORMS for word in ("--platform", name)]
        command += ["--dest", str(folder), "--requirement", wanted.name]
        if subprocess.run(command, stdout=2, check=False).returncode:
            raise UserError(f"{wheel['requirement']}: pip could not fetch its wheel")
    name = wheel["requirement"].partition("==")[0]
    (path,) = folder.glob(f"{name}-*-cp{python}-*.whl")
    return path


def _unpack(path: Path, libraries: Path, licences: Path) -> None:
    """Unpack the modules; put the licences where the package's documents are."""
    licences.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path) as wheel:
        for name in wheel.namelist():
            at = PurePosixPath(name)
            if not at.parts[0].endswith(".dist-info"):
                wheel.extract(name, libraries)
            elif at.name == "LICENSE":
                of = licences / f"LICENSE.{path.name.partition('-')[0]}"
                of.write_bytes(wheel.read(name))


def unpacked() -> Path:
    """A folder with libraries/python3.NN and licences."""

    def build(part: Path) -> None:
        with tempfile.TemporaryDirectory(prefix="writestall-") as folder:
            for wheel in tomllib.loads(TABLE.read_text())["wheel"]:
                path = _fetch(wheel, Path(folder))
                libraries = part / f"libraries/python{wheel['python']}"
                _unpack(path, libraries, part / "licences")

    return cache.build("wheels", cache.digest(TABLE, Path(__file__)), build)
