# SPDX-License-Identifier: GPL-2.0-only
"""comparison: disks, file systems and the plan of a comparison."""
