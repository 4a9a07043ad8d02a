# SPDX-License-Identifier: GPL-2.0-only
"""errors: report a failure or a wrong command line in one line."""

from __future__ import annotations

import argparse
from typing import NoReturn


class TraceError(Exception):
    """What went wrong and what helps, in one line."""


class Parser(argparse.ArgumentParser):
    """Report a wrong command line in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; try --help\n")
