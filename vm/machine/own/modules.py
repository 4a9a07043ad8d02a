# SPDX-License-Identifier: GPL-2.0-only
"""modules: lay out the modules of a kernel tree like those of an installed kernel.

`make modules_install` does this, but may write to the tree, which need not be ours.
"""

from __future__ import annotations

from pathlib import Path

from machine import cache
from machine.own.find import BUILTIN, ORDER, OwnKernel
from writestall_base.errors import UserError

AS_THEY_ARE = ("modules.builtin.modinfo",)


def _listed(own: OwnKernel, name: str) -> list[str]:
    """The modules of a list, relative to the tree.

    Before 5.4 the lists name them below kernel/, as they are installed; since 6.2
    modules.order names the .o files.
    """
    lines = (own.build / name).read_text().splitlines()
    names = (Path(line.removeprefix("kernel/")) for line in lines)
    return [str(path.with_suffix(".ko")) for path in names]


def state(own: OwnKernel) -> str:
    """A digest of the lists and of when each module was made.

    depmod reads the modules, and `make modules` leaves vmlinux as it is.
    """
    try:
        made = [(own.build / name).stat() for name in _listed(own, ORDER)]
    except FileNotFoundError as error:
        raise UserError(
            f"kernel {own.given} has no {error.filename}, which its {ORDER} names:"
            " run make modules there"
        ) from None
    stamps = (f"{file.st_size} {file.st_mtime_ns}" for file in made)
    return cache.digest(own.build / ORDER, own.build / BUILTIN, *stamps)


def collect(own: OwnKernel, folder: Path) -> None:
    """Fill the folder with links to the tree; depmod does the rest.

    The tree is seen at the same path in the machine.
    """
    for name in _listed(own, ORDER):
        link = folder / "kernel" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(own.build / name)
    folder.mkdir(parents=True, exist_ok=True)
    for kind in (ORDER, BUILTIN):
        lines = (f"kernel/{name}\n" for name in _listed(own, kind))
        (folder / kind).write_text("".join(lines))
    for name in AS_THEY_ARE:
        if (own.build / name).exists():
            (folder / name).write_bytes((own.build / name).read_bytes())
    (folder / "build").symlink_to(own.build)
    (folder / "source").symlink_to(own.source)
