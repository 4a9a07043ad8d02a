# SPDX-License-Identifier: GPL-2.0-only
"""check_attributes: write bad input to a rule; argument: its folder and root's disk.

Every attribute is given every kind of BAD, and its own mistakes.
"""

import errno
import os
import sys
from itertools import groupby
from pathlib import Path

RULE, ROOT_DISK = Path(sys.argv[1]), sys.argv[2]
HUGE = "9" * 40
# Not a value of any attribute, or only of those named in FINE.
BAD = {
    "empty": b"\n",
    "negative": b"-1\n",
    "text": b"ten\n",
    "newline": b"1\n2\n",
    "NUL": b"1\0002\n",
    "huge": b"9" * 4000 + b"\n",
}
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
# The errno of most of BAD, and the exceptions.
ERRORS: dict[str, tuple[int, dict[str, int]]] = {
    "device": (errno.ENODEV, {}),
    "force": (errno.ENAMETOOLONG, {}),
    "ops": (errno.EBADRQC, {}),
    "flags_any": (errno.EBADRQC, {}),
    "flags_none": (errno.EBADRQC, {}),
    "submitter": (errno.EINVAL, {}),
    "kind": (errno.EBADRQC, {}),
    "mode": (errno.EOPNOTSUPP, {}),
    "sectors": (errno.EINVAL, {}),
    "bytes": (errno.EINVAL, {}),
    "burst": (errno.EINVAL, {}),
    "delay": (errno.EINVAL, {"huge": errno.ERANGE}),
    "series": (errno.EINVAL, {"huge": errno.ERANGE}),
    "enabled": (errno.EINVAL, {}),
    **{name: (errno.EINVAL, {"huge": errno.ERANGE}) for name in NUMBERS},
}
# Valid there: lists and ranges may be empty, and a name may be any word.
FINE = {
    "force": {"empty", "negative", "text", "newline"},
    "flags_any": {"empty"},
    "flags_none": {"empty"},
    "sectors": {"empty"},
    "bytes": {"empty"},
    "series": {"empty"},
    "submitter": {"negative", "text", "newline"},
}
ALONE: dict[str, list[tuple[str, int]]] = {
    "device": [
        ("nosuch", errno.ENODEV),
        ("-1:0", errno.ENODEV),
        ("null", errno.ENOTBLK),
        (ROOT_DISK, errno.EPERM),
    ],
    "force": [("x" * 40, errno.ENAMETOOLONG)],
    "ops": [("write,", errno.EBADRQC)],
    "flags_any": [("sync", errno.EBADRQC), ("SYNC,,META", errno.EBADRQC)],
    "flags_none": [("sync", errno.EBADRQC)],
    "submitter": [
        ("[", errno.EINVAL),
        ("x" * 64, errno.EINVAL),
        ("a-comm-too-long-", errno.ENAMETOOLONG),
    ],
    "kind": [("everyone", errno.EBADRQC)],
    "sectors": [
        ("5", errno.EINVAL),
        ("a-b", errno.EINVAL),
        ("9-3", errno.EDOM),
        ("-3", errno.EINVAL),
        ("0-" + HUGE, errno.ERANGE),
    ],
    "bytes": [("9-3", errno.EDOM), ("0-" + HUGE, errno.ERANGE)],
    "mode": [("fast", errno.EOPNOTSUPP)],
    "delay": [
        ("1ms", errno.EINVAL),
        ("30000000001", errno.ERANGE),
        ("1 2", errno.EINVAL),
        ("uniform 1 2", errno.EINVAL),
        ("table 0:9 1000000000:3", errno.EDOM),
        ("table 0:1 1000000001:2", errno.ERANGE),
        ("table", errno.EINVAL),
        ("table 0:1", errno.EDOM),
        ("table 0:1 1000000000", errno.EINVAL),
        ("table 0:5 1000000000:1", errno.EDOM),
        ("table 1:1 1000000000:5", errno.EDOM),
        ("table" + " 0:1" * 257, errno.E2BIG),
    ],
    "series": [
        ("0:1 1000000000:2", errno.EINVAL),
        ("0  5", errno.EINVAL),
        ("0 0:1 1000000000", errno.EDOM),
        ("0 0:1 1000000000:", errno.EINVAL),
        ("0 0:1ms 1000000000:2", errno.EINVAL),
        ("4294967296", errno.ERANGE),
        ("0 0:1 1000000001:2", errno.ERANGE),
        ("0 0:1 1000000000:30000000001", errno.ERANGE),
        ("5 5", errno.EDOM),
        ("5 0:1 1000000000:2 4", errno.EDOM),
        ("0 0:1", errno.EDOM),
        ("0 0:1 500000000:2 100", errno.EDOM),
        ("0 1:1 1000000000:2", errno.EDOM),
        ("0 0:5 1000000000:1", errno.EDOM),
        ("0" + " 0:1" * 64 + " 1000000000:1", errno.E2BIG),
    ],
    "burst": [
        ("1", errno.EINVAL),
        ("9 3", errno.EDOM),
        ("1 " + "9" * 15, errno.ERANGE),
        ("1 " + HUGE, errno.ERANGE),
    ],
    "enabled": [("2", errno.EINVAL), ("yes", errno.EINVAL)],
    **{n: [("1 2", errno.EINVAL), (t, errno.ERANGE)] for n, t in NUMBERS.items()},
}


def write(name: str, data: bytes) -> int:
    """The errno of a write, or 0."""
    fd = os.open(RULE / name, os.O_WRONLY)
    try:
        os.write(fd, data)
    except OSError as error:
        return error.errno or -1
    finally:
        os.close(fd)
    return 0


def cases() -> list[tuple[str, bytes, int]]:
    """Attribute, what is written to it, and the resulting errno."""
    found = []
    for name, (usual, others) in ERRORS.items():
        for kind, data in BAD.items():
            want = errno.EILSEQ if kind == "NUL" else others.get(kind, usual)
            if kind not in FINE.get(name, ()):
                found.append((name, data, want))
        found += [(name, f"{text}\n".encode(), want) for text, want in ALONE[name]]
    return found


def read(names: set[str]) -> dict[str, bytes]:
    """What the rule says of each."""
    return {name: (RULE / name).read_bytes() for name in names}


def main() -> None:
    names = {entry.name for entry in RULE.iterdir()}
    assert names == set(ERRORS), f"untested or gone: {names ^ set(ERRORS)}"
    before = read(names)
    for name, mistakes in groupby(cases(), lambda case: case[0]):
        for _, data, want in mistakes:
            got = write(name, data)
            assert got == want, f"{name}={data[:50]!r}: {got}, not {want}"
            after = (RULE / name).read_bytes()
            assert after == before[name], f"{name}={data[:50]!r} changed it"
        assert read(names) == before, f"a mistake in {name} changed another"
    for name in sorted(names):  # what is read can be written back
        if name in ("device", "delay_us", "force"):
            continue
        got = write(name, before[name])
        assert got == 0 or before[name] == b"\n", f"{name}={before[name]!r}: {got}"
    print(f"{len(cases())} bad values refused")


main()
