# SPDX-License-Identifier: GPL-2.0-only
"""oci: build the OCI image of the Debian packages."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from driver.packaging import OUT, container, debian, sources


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the folder."""
    where = "folder for the image (out/oci)"
    parser.add_argument(
        "-o", "--output", type=Path, default=OUT / "oci", metavar="DIR", help=where
    )


def main(args: argparse.Namespace) -> int:
    """Build packages and image; print the image's archive."""
    version = sources.version()
    with tempfile.TemporaryDirectory(prefix="writestall-") as folder:
        packages = debian.build(Path(folder), version, judged=False)
        print(container.build(args.output, packages, version))
    return 0
