# SPDX-License-Identifier: GPL-2.0-only
"""workloads: the programs that write, and their records."""
