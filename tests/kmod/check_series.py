# SPDX-License-Identifier: GPL-2.0-only
"""check_series: arm a rule with a series, read its disk, compare each delay with the
table of its time; arguments: the rule's folder, the disk, the module's record.
"""

import json
import mmap
import os
import sys
import time
from pathlib import Path

RULE, DISK, RECORD = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
# From, to, delay: ms since arming, ns. Other times have no table.
EPISODES = ((500, 1000, 20_000_000), (1500, 1600, 90_000_000), (2000, 2500, 5_000_000))
END_MS = 3000
PAGE_BYTES = 4095


def segments() -> list[str]:
    """The series, with a time each 2 ms at which nothing changes."""
    made = []
    for ms in range(0, END_MS, 2):
        delay = next((ns for a, b, ns in EPISODES if a <= ms < b), None)
        made.append(f"{ms} 0:{delay} 1000000000:{delay}" if delay else f"{ms}")
    return [*made, str(END_MS)]


def write_pieces(words: list[str]) -> int:
    """Write the series, a page at most at once; return the number of pieces."""
    piece, pieces = "", 0
    for word in [*words, ""]:
        if not word or len(piece) + len(word) >= PAGE_BYTES:
            (RULE / "series").write_text(f"{piece}\n")
            piece, pieces = "", pieces + 1
        piece = f"{piece} {word}".strip()
    return pieces


def read_for(ms: int) -> None:
    """Read single blocks, one after another, without the page cache."""
    fd, block = os.open(DISK, os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 4096)
    end = time.monotonic() + ms / 1000
    while time.monotonic() < end:
        os.preadv(fd, [block], 0)
        time.sleep(0.002)
    os.close(fd)


def drain() -> list[dict[str, int]]:
    """The record so far; a read takes whole lines."""
    lines = b""
    with RECORD.open("rb", buffering=0) as record:
        while piece := record.read(1 << 16):
            lines += piece
    return [json.loads(line) for line in lines.splitlines()]


def check(before_ns: int, after_ns: int) -> None:
    """The rule was armed between these times."""
    told = drain()
    for a, b, delay in EPISODES:
        hits = sorted(row["t_ns"] for row in told if row["requested_ns"] == delay)
        assert hits, f"no read was delayed by {delay} ns"
        first_ms, last_ms = (hits[0] - before_ns) / 1e6, (hits[-1] - after_ns) / 1e6
        assert a <= first_ms and last_ms < b, (a, b, first_ms, last_ms)
        print(
            f"{delay / 1e6:g} ms: {len(hits)} reads, {first_ms:.0f} to {last_ms:.0f} ms"
            f" after arming, of {a} to {b}"
        )
    # 0: the table ended between the choice of the bio and its draw.
    delays = {0, *(delay for *_, delay in EPISODES)}
    assert all(row["requested_ns"] in delays for row in told), "another delay"


def main() -> None:
    words = segments()
    pieces = write_pieces(words)
    assert pieces > 2, pieces
    shown = (RULE / "series").read_text()
    assert shown.endswith(f" {END_MS}\n") and len(shown) <= 4096, shown
    (RULE / "series").write_text(shown)  # changes nothing
    assert (RULE / "series").read_text() == shown
    print(f"{len(words)} times in {pieces} pieces")
    for _ in range(2):  # a second arming begins anew
        drain()
        before_ns = time.monotonic_ns()
        (RULE / "enabled").write_text("1\n")
        after_ns = time.monotonic_ns()
        read_for(END_MS + 300)
        (RULE / "enabled").write_text("0\n")
        check(before_ns, after_ns)


main()
