# SPDX-License-Identifier: GPL-2.0-only
"""errors: turns bad input into one line that names the thing and the remedy."""


class WritestallError(Exception):
    """Bad input. The message is one line for a person; cli.py prints it, exits 2."""
