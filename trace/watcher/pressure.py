# SPDX-License-Identifier: GPL-2.0-only
"""pressure: read how much of the time all tasks that want to run wait for I/O."""

from __future__ import annotations

import re
from pathlib import Path

from recorder.files import ROOT, text


def io_full_percent(root: Path = ROOT) -> float | None:
    """`full avg10` of Documentation/accounting/psi.rst; None where it is not kept."""
    found = re.search(r"^full avg10=(\S+)", text(root / "proc/pressure/io") or "", re.M)
    return float(found[1]) if found else None
