# SPDX-License-Identifier: GPL-2.0-only
"""writestall: turns the events of a run into the cause of its slow write(2) calls."""

__version__ = "0.1.0"
