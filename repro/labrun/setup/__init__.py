# SPDX-License-Identifier: GPL-2.0-only
"""setup: disks, file systems and settings for the length of a run."""
