# SPDX-License-Identifier: GPL-2.0-only
"""clean: delete the cache but SystemTap's, which limits its own size."""

from __future__ import annotations

import argparse

from machine import cache, image


def main(args: argparse.Namespace) -> int:
    """Delete the image, the kernels, the compiled parts and the venvs."""
    for path in cache.root().glob("*-*"):
        if not path.name.startswith("stap-cache"):
            cache.remove(path, image.as_owner())
    return 0
