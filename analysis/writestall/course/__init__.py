# SPDX-License-Identifier: GPL-2.0-only
"""course: draw mystery disks for the labs of docs/course, and judge answers."""
