# SPDX-License-Identifier: GPL-2.0-only
"""errors: the error of a tracer, and the refusal of a processor."""

from __future__ import annotations

import os

from writestall_base.errors import EXIT_FAILED, UserError


class TraceError(UserError):
    """What went wrong and what helps, in one line."""

    status = EXIT_FAILED


# Whose registers and system calls an engine knows.
PROCESSORS = {"stap": ("x86_64",), "core": ("x86_64", "aarch64")}


def check_architecture(engine: str = "stap") -> None:
    """Refuse a processor that the engine does not know."""
    machine, known = os.uname().machine, PROCESSORS[engine]
    if machine not in known:
        names = " and ".join(known)
        raise UserError(
            f"this processor is {machine}, and the scripts know the registers and"
            f" system calls of {names} alone; use them there"
        )
