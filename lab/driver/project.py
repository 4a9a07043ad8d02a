# SPDX-License-Identifier: GPL-2.0-only
"""project: where things are; the one place that reaches into vm/."""

from __future__ import annotations

import os
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
OUT = Path(os.environ.get("WRITESTALL_OUT") or PROJECT / "out").absolute()
sys.path.insert(0, str(PROJECT / "vm"))

from machine import accel, cache, image, mirror, qemu, recipe  # noqa: E402

__all__ = ["OUT", "PROJECT", "accel", "cache", "image", "mirror", "qemu", "recipe"]
