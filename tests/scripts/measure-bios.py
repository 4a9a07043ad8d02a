#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""measure-bios: measure what the compiled tracer costs a bio.

Runs inside a guest whose clock counts instructions. A task writes a page of a RAM disk
again and again past the page cache: without a tracer, under it, and where it counts all
bios. Prints JSON: ns a write of the quickest batch."""

from __future__ import annotations

import argparse
import json
import mmap
import os
import sys
import time
from pathlib import Path

import lab

WRITES, BATCHES = 1_000, 10
SETTLES_S = 4.0
RAM_DISK = Path("/dev/ram0")
WAYS = {"none": None, "core": (), "series": ("--series-ms", "100")}


def per_write_ns() -> float:
    fd, page = os.open(RAM_DISK, os.O_RDWR | os.O_DIRECT), mmap.mmap(-1, lab.PAGE)
    found = []
    for _ in range(BATCHES):
        begun_ns = time.monotonic_ns()
        for turn in range(WRITES):
            os.pwrite(fd, page, turn % 64 * lab.PAGE)
        found.append((time.monotonic_ns() - begun_ns) / WRITES)
    os.close(fd)
    return min(found)


def test(options: argparse.Namespace) -> None:
    lab.run("modprobe", "brd", "rd_nr=1")
    found = {}
    for name, words in WAYS.items():
        engines = () if words is None else (lab.CORE,)
        with lab.tracing(options.modules, engines, *words or ()):
            time.sleep(SETTLES_S)
            found[name] = round(per_write_ns())
    print(json.dumps(found))


if __name__ == "__main__":
    sys.exit(lab.main(test))
