# SPDX-License-Identifier: GPL-2.0-only
"""errors: report a failure or a wrong command line in one line."""

from __future__ import annotations

import argparse
import os
from typing import NoReturn


class TraceError(Exception):
    """What went wrong and what helps, in one line."""


def check_architecture() -> None:
    """Refuse a processor whose registers and system calls the scripts do not know."""
    machine = os.uname().machine
    if machine != "x86_64":
        raise TraceError(
            f"this processor is {machine}, and the scripts know the registers and"
            " system calls of x86_64 alone; use them there"
        )


class Parser(argparse.ArgumentParser):
    """Report a wrong command line in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; try --help\n")
