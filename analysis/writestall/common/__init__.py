# SPDX-License-Identifier: GPL-2.0-only
"""common: what every room uses: errors, files, units, processes."""
