# SPDX-License-Identifier: GPL-2.0-only
"""cli: the command line; a module per command, listed in commands.py."""
