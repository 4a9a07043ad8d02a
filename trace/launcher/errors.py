# SPDX-License-Identifier: GPL-2.0-only
"""errors: the error of a tracer, and the refusal of a processor."""

from __future__ import annotations

import os

from writestall_base.errors import EXIT_FAILED, UserError


class TraceError(UserError):
    """What went wrong and what helps, in one line."""

    status = EXIT_FAILED


def check_architecture() -> None:
    """Refuse a processor whose registers and system calls the scripts do not know."""
    machine = os.uname().machine
    if machine != "x86_64":
        raise UserError(
            f"this processor is {machine}, and the scripts know the registers and"
            " system calls of x86_64 alone; use them there"
        )
