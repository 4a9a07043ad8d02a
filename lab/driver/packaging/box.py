# SPDX-License-Identifier: GPL-2.0-only
"""box: build a Vagrant box for libvirt from the lab's own image."""

from __future__ import annotations

import argparse
import json
import shutil
import tarfile
import tempfile
from pathlib import Path

from driver import unpacked
from driver.packaging import RECIPES, add_output, sources, trees
from machine import image, recipe

NAME = "writestall/local"
PROVIDER = "libvirt"
SIZE_GIB = 8


def key(name: str) -> Path:
    """A file of Vagrant's key pair for new boxes, which it replaces at first login."""
    gems = "usr/lib/*/rubygems-integration/*/gems"
    (found,) = unpacked.tree().glob(f"{gems}/vagrant-*/keys/{name}")
    return found


def disk(target: Path) -> None:
    known = recipe.load()
    with tempfile.TemporaryDirectory(prefix="writestall-", dir=target.parent) as place:
        folder = Path(place)
        trees.network(folder)
        shutil.copy(key("vagrant.pub"), folder)
        size = f"{(SIZE_GIB << 10) - 1}M"  # and 1 MiB for the boot loader
        root, loader = (RECIPES / "box" / name for name in ("root.sh", "disk.sh"))
        trees.carry_out(root, image.tree(known), folder, known.kernel, size)
        trees.carry_out(loader, trees.workshop(), folder)
        shutil.move(folder / "box.img", target)


def pack(img: Path, out: Path, version: str) -> Path:
    """The box, and the catalogue that Vagrant finds its versions by."""
    box = out / f"writestall-{version}-{PROVIDER}.box"
    contents = {"provider": PROVIDER, "format": "qcow2", "virtual_size": SIZE_GIB}
    with tempfile.TemporaryDirectory(prefix="writestall-") as place:
        inside = Path(place, "metadata.json")
        inside.write_text(json.dumps(contents))
        with tarfile.open(box, "w") as tar:  # the disk is compressed
            tar.add(inside, inside.name)
            tar.add(RECIPES / "box/Vagrantfile", "Vagrantfile")
            tar.add(img, "box.img")
    provider = {"name": PROVIDER, "url": box.absolute().as_uri()}
    versions = [{"version": version, "providers": [provider]}]
    catalogue = {"name": NAME, "versions": versions}
    (out / "metadata.json").write_text(json.dumps(catalogue, indent=2) + "\n")
    return box


def arguments(parser: argparse.ArgumentParser) -> None:
    add_output(parser, "box", "folder for the box")


def main(args: argparse.Namespace) -> int:
    """Build the box; print what adds it to Vagrant."""
    args.output.mkdir(parents=True, exist_ok=True)
    img = args.output / "box.img"
    disk(img)
    print(pack(img, args.output, sources.version()))
    img.unlink()
    print(f"next: vagrant box add {args.output / 'metadata.json'}")
    print(f"      WRITESTALL_BOX={NAME} vagrant up --provider libvirt")
    return 0
