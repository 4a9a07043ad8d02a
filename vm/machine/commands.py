# SPDX-License-Identifier: GPL-2.0-only
"""commands: the environment to where this host's commands are looked for."""

from __future__ import annotations

import os


def search_path() -> str:
    """PATH and the sbin folders, which Debian leaves out of ordinary users' PATH."""
    return os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
