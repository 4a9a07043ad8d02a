# SPDX-License-Identifier: GPL-2.0-only
"""programs: read what a program says of itself, a module for each format."""
