# SPDX-License-Identifier: GPL-2.0-only
"""errors: the exception for bad input; its text is one line with the remedy."""


class WritestallError(Exception):
    """Bad input. The message is one line for a person; cli.py prints it, exits 2."""
