# SPDX-License-Identifier: GPL-2.0-only
"""classify: map stacks to classes of waiting and to roles."""
