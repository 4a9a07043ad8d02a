# SPDX-License-Identifier: GPL-2.0-only
"""errors: what went wrong, as one line."""


class DrillError(Exception):
    """What went wrong and what helps, in one line."""
