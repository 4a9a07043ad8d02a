# SPDX-License-Identifier: GPL-2.0-only
"""pictures: draw latency distributions and time grids."""
