# SPDX-License-Identifier: GPL-2.0-only
"""crash: what a file system keeps when its machine is cut."""
