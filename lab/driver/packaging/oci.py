# SPDX-License-Identifier: GPL-2.0-only
"""oci: build the OCI image of the Debian packages."""

from __future__ import annotations

import argparse
import json
import shutil
import tarfile
import tempfile
from pathlib import Path

from driver.packaging import RECIPES, add_output, deb, sources, trees
from writestall_base.errors import UserError

SUITE = "forky"
DAEMONSET = RECIPES / "oci/daemonset.yaml"


def name(version: str) -> str:
    return f"writestall-{version}.oci.tar"


def build(out: Path, packages: list[Path], version: str) -> Path:
    """Install the packages in a fresh tree and pack it; return the archive."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="writestall-") as place:
        folder = Path(place)
        trees.network(folder)
        (folder / "packages").mkdir()
        for path in packages:
            shutil.copy(path, folder / "packages")
        root, pack = (RECIPES / "oci" / name for name in ("root.sh", "image.sh"))
        trees.carry_out(root, trees.tree(SUITE), folder)
        words = version, sources.timestamp()
        trees.carry_out(pack, trees.workshop(), folder, *words)
        done = out / name(version)
        shutil.move(folder / "image.tar", done)
    return done


def daemonset(archive: Path, version: str) -> str:
    """The DaemonSet with the image of an archive, which its digest names."""
    with tarfile.open(archive) as layout:
        index = layout.extractfile("./index.json")
        assert index
        (manifest,) = json.load(index)["manifests"]
    named = f"image: writestall:{version}\n"
    text = DAEMONSET.read_text()
    if named not in text:
        raise UserError(f"{DAEMONSET}: it names no image of version {version}")
    return text.replace(named, f"{named.rstrip()}@{manifest['digest']}\n")


def arguments(parser: argparse.ArgumentParser) -> None:
    add_output(parser, "oci", "folder for the image")


def main(args: argparse.Namespace) -> int:
    """Build packages and image; print the image's archive."""
    version = sources.version()
    with tempfile.TemporaryDirectory(prefix="writestall-") as folder:
        packages = deb.build(Path(folder), version, judged=False)
        print(build(args.output, packages, version))
    return 0
