# SPDX-License-Identifier: GPL-2.0-only
"""labrun: run one scenario on this Linux machine and write a run directory."""

from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
