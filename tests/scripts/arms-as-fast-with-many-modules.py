#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will arm each engine's tracer without and with the module xfs, which has
thousands of functions, and find that it takes no longer.

The clock counts instructions. A filter of ftrace by name looks at each function of each
module (kernel/trace/ftrace.c, match_records()): SystemTap's tracer took 3.9 s without
and 44 s with xfs on 7.2.
"""

from __future__ import annotations

import argparse
import sys
import time

import lab

MOST = 1.5  # times as long
SLACK_S = 0.3


def armed_s(options: argparse.Namespace, engine: str) -> float:
    """How long it takes from the start of the launcher to the armed tracer."""
    begun_s = time.monotonic()
    with lab.tracing(options.modules, (engine,)):
        return time.monotonic() - begun_s


def test(options: argparse.Namespace) -> None:
    engines = lab.serving()
    without_s = [armed_s(options, engine) for engine in engines]
    if not lab.mounts("xfs"):
        return
    for engine, before_s in zip(engines, without_s, strict=True):
        with_s = armed_s(options, engine)
        said = f"{engine}: armed in {before_s:.2f} s, with xfs in {with_s:.2f} s"
        print(said)
        lab.expect(with_s <= MOST * before_s + SLACK_S, said)


if __name__ == "__main__":
    sys.exit(lab.main(test))
