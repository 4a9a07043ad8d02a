# SPDX-License-Identifier: GPL-2.0-only
"""test_clients: compile the workload programs with gcc's analyzer, and run them under
its sanitizers.

In the image's root, which has their library.
"""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from support import PROJECT, tool

COMPLAINT = re.compile(r".*\b(?:warning|error):.*")
ANALYZER = "-O2 -fanalyzer -fdiagnostics-path-format=none"
ADDRESS = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"
THREAD = "-O1 -g -fsanitize=thread"
LOGS = "--hlog w.hlog --hlog-service s.hlog --slow-log w.jsonl --slow-us 0"
SHORT = "--duration-s 1"
# What each is called with, and the status that it ends with: 124 is that of timeout(1),
# which ends it by SIGTERM.
CALLS = {
    f"latwriter {SHORT} {LOGS} --path a --fsync-every 10 --interval-us 2000": 0,
    f"latwriter {SHORT} --path b --writers 4 --shared-file --bytes 70000": 0,
    f"latwriter {SHORT} --path c --pwrite 1048576 --seed 9223372036854775807": 0,
    "latwriter --path d/ --writers 3 --hlog d.hlog": 124,
    "latwriter --path e --writers 0": 2,
    "latwriter --path /no/folder/f --hlog f.hlog": 1,
    "latwriter --path /dev/full": 2,
    f"safepoint {SHORT} {LOGS} --path g --threads 5 --hlog-pause g.pause": 0,
    f"safepoint {SHORT} --path h --async --queue-lines 2 --interval-us 1000": 0,
    "safepoint --path i --async --hlog-pause i.pause": 124,
    "safepoint --path": 2,
    f"broker {SHORT} {LOGS} --path j --partitions 3 --threads 16": 0,
    "broker --path k --hlog-service k.hlog": 124,
    "broker --path l --threads 1000000": 2,
    f"broker {SHORT} --path m --hlog /dev/full": 1,
}
BUILD = "make -s -C repro BUILD=/tmp/made STATIC=no CFLAGS={flags} 2>&1"
# Each in a folder of its own, all at once: most of the time they wait.
# What is allocated before the first write is left to the end of the process.
RUN = """set -u
export ASAN_OPTIONS=detect_leaks=0
mkdir -p /tmp/run
call() {{ # NUMBER COMMAND...: its status is the last line of NUMBER.out
	mkdir -p "/tmp/run/$1/d" && cd "/tmp/run/$1" || exit
	shift
	timeout 2 "/tmp/made/$@" >out 2>&1
	echo "status $?" >>out
}}
{calls}
wait
tail --lines 40 /tmp/run/*/out
"""


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """A copy of the programs' sources, which make may write beside."""
    shutil.copytree(PROJECT / "repro", tmp_path / "repro")
    return tmp_path


def _inside(folder: Path, script: str) -> str:
    enter = ("vm/vm", "enter", f"{folder}:/mnt/build")
    done = tool(*enter, "--", "bash", "-c", f"cd /mnt/build && {script}")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    return done.stdout


def test_the_analyzer_does_not_complain(sources: Path) -> None:
    said = _inside(sources, BUILD.format(flags=shlex.quote(ANALYZER)))
    assert not COMPLAINT.findall(said)


@pytest.mark.parametrize("flags", [ADDRESS, THREAD], ids=["address", "thread"])
def test_the_sanitizers_do_not_complain(sources: Path, flags: str) -> None:
    calls = "\n".join(f"call {i} {call} &" for i, call in enumerate(CALLS))
    made = BUILD.format(flags=shlex.quote(flags))
    said = _inside(sources, f"{made} && {{ {RUN.format(calls=calls)}}}")
    assert "Sanitizer" not in said, said
    assert "runtime error" not in said, said
    printed = dict(
        re.findall(r"^==> /tmp/run/(\d+)/out <==[\s\S]*?^status (\d+)$", said, re.M)
    )
    ended = {call: int(printed[str(i)]) for i, call in enumerate(CALLS)}
    assert ended == CALLS, said
