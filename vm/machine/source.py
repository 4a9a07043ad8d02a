# SPDX-License-Identifier: GPL-2.0-only
"""source: unpack the source of an image's kernel, from Debian's linux-source.

APT verifies the package, and mmdebstrap unpacks it in the cache: no script of it runs.
Kept are the folders that a chain leads through, about a seventh of the tree.
"""

from __future__ import annotations

import lzma
import shutil
import tarfile
from pathlib import Path, PurePosixPath

from machine import cache, image
from writestall_base.errors import UserError

PACKAGE = "linux-source"
FOLDERS = (
    "block drivers/block drivers/md drivers/scsi fs include io_uring kernel lib mm"
)


def tree(suite: str) -> Path:
    """The C files of the suite's kernel, in the cache."""

    def build(part: Path) -> None:
        package = part.with_name(f"{part.name}-package")
        owner = image.as_owner()
        cache.remove(package, owner)
        try:
            extra = ["--variant=extract", f"--include={PACKAGE}"]
            image.bootstrap(suite, {suite}, package, extra)
            archives = sorted((package / "usr/src").glob(f"{PACKAGE}-*.tar.xz"))
            if not archives:
                raise UserError(f"{suite}: its {PACKAGE} has no source in usr/src")
            part.mkdir()
            unpack(archives[-1], part)
        finally:
            cache.remove(package, owner)

    return cache.build("source", cache.digest(suite, PACKAGE, FOLDERS), build)


def unpack(archive: Path, to: Path) -> None:
    """The C files of FOLDERS and the top Makefile, without the first folder."""
    try:
        with tarfile.open(archive, "r|*") as members:
            for member in members:
                path = PurePosixPath(*PurePosixPath(member.name).parts[1:])
                if member.isfile() and _is_wanted(path):
                    _write(members, member, to / path)
    except (OSError, tarfile.TarError, lzma.LZMAError) as error:
        raise UserError(f"{archive.name}: {error}") from None


def _is_wanted(path: PurePosixPath) -> bool:
    within = any(path.is_relative_to(folder) for folder in FOLDERS.split())
    c_file = within and path.suffix in (".c", ".h") and ".." not in path.parts
    return c_file or path == PurePosixPath("Makefile")


def _write(members: tarfile.TarFile, member: tarfile.TarInfo, to: Path) -> None:
    data = members.extractfile(member)
    assert data is not None  # of a regular file
    to.parent.mkdir(parents=True, exist_ok=True)
    with to.open("wb") as file:
        shutil.copyfileobj(data, file)


def release(tree_of_kernel: Path) -> str:
    """The number of the kernel of a tree, such as 6.12.117, as its Makefile has it."""
    try:
        text = (tree_of_kernel / "Makefile").read_text()
    except OSError as error:
        raise UserError(f"{tree_of_kernel}: no kernel tree: {error.strerror}") from None
    rows = dict(line.split(" = ", 1) for line in text.splitlines()[:9] if " = " in line)
    numbers = [rows.get(key, "") for key in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
    if not all(number.strip().isdigit() for number in numbers):
        raise UserError(
            f"{tree_of_kernel}: no kernel tree: its Makefile has no VERSION"
        )
    return ".".join(number.strip() for number in numbers)
