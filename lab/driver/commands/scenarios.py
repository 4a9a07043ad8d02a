# SPDX-License-Identifier: GPL-2.0-only
"""scenarios: list the scenarios, one sentence each."""

from __future__ import annotations

import argparse

from driver.project import answer


def main(args: argparse.Namespace) -> int:
    """Print the list of repro/run."""
    print(answer("repro/run", "--list"))
    return 0
