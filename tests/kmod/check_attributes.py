# SPDX-License-Identifier: GPL-2.0-only
"""check_attributes: a rule's folder and root's disk to a verdict on bad input."""

import errno
import os
import sys
from pathlib import Path

RULE, ROOT_DISK = Path(sys.argv[1]), sys.argv[2]
HUGE = "9" * 40
NUMBERS = {
    "order": "1000001",
    "pid": HUGE,
    "cgroup": HUGE,
    "seed": HUGE,
    "correlation": "1001",
    "lanes": "65",
    "probability": "101",
    "interval": "0",
    "times": HUGE,
    "space": HUGE,
    "max_delay_us": "0",
    "max_inflight": HUGE,
    "ttl_ms": HUGE,
    "heartbeat_ms": HUGE,
    "delay_us": "30000001",
}
WORDS: dict[str, list[tuple[str, int]]] = {
    "device": [
        ("", errno.ENODEV),
        ("nosuch", errno.ENODEV),
        (HUGE, errno.ENODEV),
        ("-1:0", errno.ENODEV),
        ("null", errno.ENOTBLK),
        (ROOT_DISK, errno.EPERM),
    ],
    "force": [("x" * 40, errno.ENAMETOOLONG)],
    "ops": [
        ("", errno.EBADRQC),
        ("write,", errno.EBADRQC),
        ("x" * 4000, errno.EBADRQC),
        ("1", errno.EBADRQC),
    ],
    "flags_any": [("sync", errno.EBADRQC), ("SYNC,,META", errno.EBADRQC)],
    "flags_none": [("sync", errno.EBADRQC)],
    "submitter": [
        ("", errno.EINVAL),
        ("[", errno.EINVAL),
        ("x" * 64, errno.EINVAL),
        ("a-comm-too-long-", errno.ENAMETOOLONG),
    ],
    "kind": [("", errno.EBADRQC), ("everyone", errno.EBADRQC)],
    "sectors": [
        ("5", errno.EINVAL),
        ("a-b", errno.EINVAL),
        ("9-3", errno.EDOM),
        ("-3", errno.EINVAL),
        ("0-" + HUGE, errno.ERANGE),
    ],
    "bytes": [("5", errno.EINVAL), ("9-3", errno.EDOM)],
    "mode": [("", errno.EOPNOTSUPP), ("fast", errno.EOPNOTSUPP)],
    "delay": [
        ("", errno.EINVAL),
        ("fast", errno.EINVAL),
        ("-1", errno.EINVAL),
        ("1ms", errno.EINVAL),
        ("30000000001", errno.ERANGE),
        (HUGE, errno.ERANGE),
        ("1 2", errno.EINVAL),
        ("uniform 5", errno.EINVAL),
        ("uniform 9 3", errno.EDOM),
        ("bimodal 1 2", errno.EINVAL),
        ("bimodal 1 2 1000000001", errno.ERANGE),
        ("table", errno.EINVAL),
        ("table 0:1", errno.EDOM),
        ("table 0:1 1000000000", errno.EINVAL),
        ("table 0:5 1000000000:1", errno.EDOM),
        ("table 1:1 1000000000:5", errno.EDOM),
        ("table" + " 0:1" * 257, errno.E2BIG),
    ],
    "burst": [
        ("1", errno.EINVAL),
        ("9 3", errno.EDOM),
        ("1 " + "9" * 15, errno.ERANGE),
    ],
    "enabled": [
        ("", errno.EINVAL),
        ("2", errno.EINVAL),
        ("yes", errno.EINVAL),
        ("-1", errno.EINVAL),
    ],
}
for name, too_much in NUMBERS.items():
    WORDS[name] = [
        ("", errno.EINVAL),
        ("-1", errno.EINVAL),
        ("ten", errno.EINVAL),
        ("1 2", errno.EINVAL),
        (too_much, errno.ERANGE),
    ]


def write(name: str, data: bytes) -> int:
    """The errno that a write ends in, or 0."""
    fd = os.open(RULE / name, os.O_WRONLY)
    try:
        os.write(fd, data)
        os.close(fd)
    except OSError as error:
        return error.errno or -1
    return 0


def main() -> None:
    names = {entry.name for entry in RULE.iterdir()}
    assert names == set(WORDS), f"untested or gone: {names ^ set(WORDS)}"
    cases = [(n, w.encode() + b"\n", e) for n in WORDS for w, e in WORDS[n]]
    cases += [(n, b"1\0002\n", errno.EILSEQ) for n in WORDS]
    before = {name: (RULE / name).read_bytes() for name in names}
    for name, data, want in cases:
        got = write(name, data)
        assert got == want, f"{name}={data[:50]!r}: {got}, not {want}"
        after = {n: (RULE / n).read_bytes() for n in names}
        assert after == before, f"{name}={data[:50]!r} changed something"
    for name in sorted(names):  # what is read can be written back
        if name in ("device", "delay_us", "force"):
            continue
        got = write(name, before[name])
        assert got == 0 or before[name] == b"\n", f"{name}={before[name]!r}: {got}"
    print(f"{len(cases)} bad values refused")


main()
