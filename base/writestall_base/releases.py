# SPDX-License-Identifier: GPL-2.0-only
"""releases: compare the releases of kernels, as `uname -r` prints them."""

import re


def version(release: str) -> tuple[int, int]:
    """Return (6, 12) for 6.12, 6.12+ or 6.12.107+deb13-amd64.

    Raises ValueError without two numbers at its start.
    """
    found = re.match(r"(\d+)\.(\d+)", release)
    if not found:
        raise ValueError(f"{release}: not the release of a kernel")
    return int(found[1]), int(found[2])
