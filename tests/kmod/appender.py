# SPDX-License-Identifier: GPL-2.0-only
"""appender: append 200 bytes every ms to FILE for SECONDS; print the slowest, in ms."""

import os
import sys
import time

PERIOD_NS = 1_000_000


def main() -> None:
    path, seconds = sys.argv[1], float(sys.argv[2])
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    line = b"x" * 199 + b"\n"
    slowest_ns = 0
    end_ns = time.monotonic_ns() + int(seconds * 1e9)
    while (start_ns := time.monotonic_ns()) < end_ns:
        os.write(fd, line)
        took_ns = time.monotonic_ns() - start_ns
        slowest_ns = max(slowest_ns, took_ns)
        time.sleep(max(0, PERIOD_NS - took_ns) / 1e9)
    print(slowest_ns // 1_000_000)


main()
