# SPDX-License-Identifier: GPL-2.0-only
"""writestall_base: what several folders share; of the standard library alone.

It also runs in guests and on hosts without anything installed.
"""

from pathlib import Path

TREE = Path(__file__).resolve().parents[2]
JARS = Path("/mnt/jars")  # in a machine, where its scenarios look for them
