# SPDX-License-Identifier: GPL-2.0-only
"""injectors: what slows a disk."""
