# SPDX-License-Identifier: GPL-2.0-only
"""bench_log: measure what `explain` costs on long logs with three hung tasks.

Method: as bench.py's. The log is a syslog of made-up lines of daemons and of the
kernel; at 30, 60 and 90 % of it a hung-task report stands. With `--frames` one line in
six, drawn at random, looks like a frame of a stack; with `--glibc` all do, in the form
of backtrace_symbols(3). With `--stacks` it has no lines but those of reports. `growth`
is CPU time by megabyte by that of the smallest size.
"""

from __future__ import annotations

import argparse
import itertools
import random
import tempfile
from collections.abc import Callable
from pathlib import Path

import bench

SIZES_MB, STACK_SIZES_MB, GLIBC_SIZES_MB = (10, 50, 200), (2, 5, 20), (10,)
# The bounds that a log of 200 MB is held to: CPU seconds and megabytes of memory.
MOST_CPU_S, MOST_MB = 10.0, 100.0
TRIES = 3
LINES = (
    "sshd[{0}]: Accepted publickey for root from 10.0.0.{1} port {0} ssh2: RSA x",
    "systemd[1]: Started session-{0}.scope - Session {0} of User root.",
    "kernel: [{0}.{1:06}] [UFW BLOCK] IN=eth0 OUT= SRC=10.0.0.{1} DST=10.0.0.2 LEN=40",
    "CRON[{0}]: (root) CMD (cd / && run-parts --report /etc/cron.hourly)",
)
FRAME = "kernel: [{0}.{1:06}]  func_{0}+0x1f/0x2a"
GLIBC = "prog[{0}]: /lib64/libc.so.6(func_{0}+0x1f)[0x7f5a1b2c{1:03}]"
REPORT = """\
INFO: task rotator:{0} blocked for more than 122 seconds.
      Not tainted 6.12.57 #1
"echo 0 > /proc/sys/kernel/hung_task_timeout_secs" disables this message.
task:rotator         state:D stack:0     pid:{0}  tgid:{0}  ppid:1      flags:0x00000002
Call Trace:
 <TASK>
 __schedule+0x3c5/0xb40
 io_schedule+0x46/0x70
 folio_wait_bit_common+0x13e/0x320
 __filemap_get_folio+0x2a1/0x340
 ext4_da_write_begin+0x10b/0x2c0
 generic_perform_write+0xd1/0x220
 ext4_buffered_write_iter+0x6c/0xe0
 vfs_write+0x274/0x420
 </TASK>
"""


def plain(at: int) -> str:
    """A line of a daemon or the kernel."""
    return LINES[at % len(LINES)]


def with_frames(at: int) -> str:
    """The same; one line in six looks like a frame."""
    return FRAME if random.Random(at).random() < 1 / 6 else plain(at)


def of_glibc(_: int) -> str:
    """A frame of a backtrace of a program."""
    return GLIBC


def make(path: Path, size_bytes: int, form: Callable[[int], str]) -> None:
    """A log of that size."""
    marks = [size_bytes * share // 10 for share in (3, 6, 9)]
    with path.open("w") as file:
        written = 0
        for at in itertools.count():
            line = form(at).format(at % 30_000 + 300, at % 250)
            written += file.write(f"Aug  3 11:22:{at // 900 % 60:02} vault {line}\n")
            if marks and written > marks[0]:
                marks.pop(0)
                for row in REPORT.format(4000 + len(marks)).splitlines():
                    file.write(f"Aug  3 11:22:33 vault kernel: {row}\n")
            if written > size_bytes:
                return


def make_stacks(path: Path, size_bytes: int) -> None:
    """A log of that size of reports alone, of as many tasks."""
    with path.open("w") as file:
        written = 0
        for at in itertools.count(1000):
            for row in REPORT.format(at).splitlines():
                stamp = f"[{at / 100:12.6f}]"
                written += file.write(f"Aug  3 11:22:33 vault kernel: {stamp} {row}\n")
            if written > size_bytes:
                return


def main() -> None:
    """Print the table; fail where the bounds of the largest size are passed."""
    parser = argparse.ArgumentParser(prog="bench_log", description=__doc__)
    parser.add_argument("sizes", type=int, nargs="*", metavar="MB")
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--stacks", action="store_true", help="reports alone")
    kind.add_argument("--frames", action="store_true", help="lines like frames")
    kind.add_argument("--glibc", action="store_true", help="backtraces of programs")
    args = parser.parse_args()
    usual = GLIBC_SIZES_MB if args.glibc else SIZES_MB
    sizes = args.sizes or (STACK_SIZES_MB if args.stacks else usual)
    form = with_frames if args.frames else of_glibc if args.glibc else plain
    print("| log MB | CPU s | wall s | peak MB | MB/s | growth |")
    print("| --- | --- | --- | --- | --- | --- |", flush=True)
    first_s = 0.0
    over = []
    with tempfile.TemporaryDirectory() as folder:
        for size in sorted(sizes):
            path = Path(folder, "messages")
            if args.stacks:
                make_stacks(path, size * 1_000_000)
            else:
                make(path, size * 1_000_000, form)
            best = min(bench.cost("explain --log", path) for _ in range(TRIES))
            each_s = best.cpu_s / size
            first_s = first_s or each_s
            peak_mb = best.peak_bytes / 1e6
            print(
                f"| {size} | {best.cpu_s:.2f} | {best.wall_s:.2f} | {peak_mb:.0f} "
                f"| {1 / each_s:.0f} | {each_s / first_s:.2f} |",
                flush=True,
            )
            most_s = MOST_CPU_S * max(size / 200, 0.1)
            if not args.stacks and (best.cpu_s > most_s or peak_mb > MOST_MB):
                over.append(size)
    if over:
        raise SystemExit(f"bench_log: over the bounds at {over} MB")


if __name__ == "__main__":
    main()
