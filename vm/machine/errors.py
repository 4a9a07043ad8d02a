# SPDX-License-Identifier: GPL-2.0-only
"""errors: what can go wrong to one line and an exit status."""

from __future__ import annotations


class UserError(Exception):
    """A mistake or a missing thing, told in one line that ends in the remedy."""


# Exit statuses of `vm/run` beside the command's own (0 to 119).
EXIT_SPLAT = 122  # the command ended, but the kernel complained
EXIT_LOST = 123  # the machine died or fell silent before its verdict
EXIT_TIMEOUT = 124  # the time limit passed
EXIT_SETUP = 125  # no machine was started
