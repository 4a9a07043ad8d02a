#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""find-wait-sites: list the functions of a kernel tree that sleep uninterruptibly.

usage: docs/find-wait-sites.py LINUX > docs/wait-sites.txt

A line for each function below the VFS and what it calls to sleep: file, function, call.
It reads C by its layout (c_layout.py), so a call made by a macro or an inline function
of a header is that of the header, and not listed.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import c_layout

PLACES = (
    *(f"fs/{name}/*.c" for name in "ext4 jbd2 btrfs f2fs fuse overlayfs nfs".split()),
    *("fs/xfs/*.c", "fs/xfs/libxfs/*.c", "fs/quota/*.c", "fs/iomap/*.c", "fs/*.c"),
    *("block/*.c", "mm/*.c", "drivers/md/*.c", "drivers/md/bcache/*.c"),
    *("drivers/nvme/host/*.c", "drivers/block/loop.c"),
)
CALLS = re.compile(
    r"\b(mutex_lock(?:_nested|_io)?|down(?:_read|_write)?(?:_nested)?|percpu_down_\w+"
    r"|(?:io_)?wait_event(?:_lock_irq|_timeout|_cmd)?|wait_on_bit(?:_io|_lock|_lock_io)?"
    r"|wait_var_event|wait_for_completion(?:_io|_timeout)?|io_schedule(?:_timeout)?"
    r"|schedule(?:_timeout_uninterruptible)?|closure_sync|flush_(?:delayed_)?work"
    r"|flush_workqueue|drain_workqueue|cancel_(?:delayed_)?work_sync)\("
)


def sites(tree: Path) -> Iterator[tuple[str, str, str]]:
    """File, function and call of every wait."""
    for found in c_layout.functions(tree, PLACES):
        for call in sorted({match[1] for match in CALLS.finditer(found.body)}):
            yield found.file, found.name, call


def main() -> int:
    """Print the list of the tree that the command line names."""
    form = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=form)
    parser.add_argument("linux", type=Path, metavar="LINUX", help="a kernel tree")
    tree = parser.parse_args().linux
    if not (tree / "fs").is_dir():
        parser.error(f"{tree}: no kernel tree")
    for row in sites(tree):
        print(*row)
    return 0


if __name__ == "__main__":
    sys.exit(main())
