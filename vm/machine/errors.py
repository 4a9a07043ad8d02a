# SPDX-License-Identifier: GPL-2.0-only
"""errors: the exception for a user's mistakes, and the exit statuses."""

from __future__ import annotations


class UserError(Exception):
    """A mistake or a missing part: one line that ends in the remedy."""


# Exit statuses of `vm/vm run`, in addition to the command's (0 to 119).
EXIT_SPLAT = 122  # the command ended, but the kernel complained
EXIT_LOST = 123  # the machine ended before its verdict
EXIT_TIMEOUT = 124  # the time limit passed
EXIT_SETUP = 125  # no machine was started
