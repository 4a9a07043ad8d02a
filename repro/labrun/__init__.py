# SPDX-License-Identifier: GPL-2.0-only
"""labrun: one scenario on this Linux machine to one run directory."""

from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
