# SPDX-License-Identifier: GPL-2.0-only
"""writestall: find the cause of slow write(2) calls in the events of a run."""

__version__ = "0.1.0"
