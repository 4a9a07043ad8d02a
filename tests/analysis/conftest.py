# SPDX-License-Identifier: GPL-2.0-only
"""conftest: makes the builder importable and names the tools tests share."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
