# SPDX-License-Identifier: GPL-2.0-only
"""compare: compare options of file systems over many runs."""
