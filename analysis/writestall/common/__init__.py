# SPDX-License-Identifier: GPL-2.0-only
"""common: what every room uses: input, scales, windows, processes."""
