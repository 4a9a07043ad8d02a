#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""This test will stall writes to files, in tasks, with newlines, quotes, control
characters and broken UTF-8 in their names, and find the documented text for each."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path

import lab

# Name on disk, and the text of both engines for it.
NAMES = {
    b"plain.log": "plain.log",
    b"new\nline": "new\nline",
    b'quo"te\\back': 'quo"te\\back',
    b"bell\x07tab\tdel\x7f": "bell\x07tab\tdel\x7f",
    "gr\u00fc\u00df \u20ac \U0001f40c".encode(): "gr\u00fc\u00df \u20ac \U0001f40c",
    b"lone\xff\xfe": "lone\ufffd\ufffd",
    b"cut\xe2\x82": "cut\ufffd\ufffd",
    b"surrogate\xed\xa0\x80": "surrogate\ufffd\ufffd\ufffd",
    b"overlong\xc0\xaf": "overlong\ufffd\ufffd",
    b"n" * 255: "n" * 255,
    b"%s%n%d ${x}": "%s%n%d ${x}",
}
FOLDER = b'fold"er\n'


def write_named(path: bytes, comm: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
    Path("/proc/self/comm").write_bytes(comm)
    os.write(fd, b"x")


def test(options: argparse.Namespace) -> None:
    writes = ("--stall-us", "50000", "--call", "writes")
    with (
        lab.disk() as disk,
        lab.tracing(options.modules, lab.serving(), *writes) as tracers,
    ):
        folder = os.fsencode(lab.MOUNT) + b"/" + FOLDER
        Path(os.fsdecode(folder)).mkdir()
        for name in NAMES:
            Path(os.fsdecode(folder + b"/" + name)).write_bytes(b"y")
        os.sync()
        pids = {
            lab.stalled_child(
                disk,
                partial(write_named, folder + b"/" + name, name[:15]),
                0.1,
            ): text
            for name, text in NAMES.items()
        }
        for tracer in tracers:
            events = {e["tid"]: e for e in lab.writes_to(disk, tracer.stop())}
            lab.expect(events.keys() == pids.keys(), f"{tracer.engine}: {events}")
            for pid, text in pids.items():
                path = events[pid]["path"]
                want = FOLDER.decode() + "/" + text
                lab.expect(path == want, f"{tracer.engine}: {path!r}, not {want!r}")
                comm = events[pid]["comm"]
                lab.expect(
                    comm == text[: len(comm)] and comm,
                    f"{tracer.engine}: comm {comm!r} of {text!r}",
                )


if __name__ == "__main__":
    sys.exit(lab.main(test))
