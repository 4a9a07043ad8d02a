# SPDX-License-Identifier: GPL-2.0-only
"""stap_cache: unpack the SystemTap cache that plain-cache.sh made in the image.

stap finds the results of its passes there: an emulated CPU would take more than ten
minutes for each script.
"""

from __future__ import annotations

import os
from pathlib import Path

import lab


def environment(modules: Path) -> dict[str, str]:
    """Unpack the cache beside the folder of modules; return the environment of stap."""
    lab.run("tar", "-x", "-C", "/", "-f", modules.with_name("plain.tar"))
    given = ["SYSTEMTAP_DIR=/tmp/systemtap", "SYSTEMTAP_RUNTIME=/tmp/runtime"]
    tree = lab.run("env", *given, lab.PROJECT / "trace/build-tree").strip()
    given.append(f"SYSTEMTAP_RELEASE={tree}")
    return os.environ | dict(word.split("=", 1) for word in given)
