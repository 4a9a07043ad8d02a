# SPDX-License-Identifier: GPL-2.0-only
"""This test will print a `cgroup` event before the first line that tells of each."""

from __future__ import annotations

import io
import json
from pathlib import Path

from launcher.cgroups import Hierarchy, WithCgroups, mounted


def printed(lines: list[bytes], top: Path) -> list[dict[str, object]]:
    out = io.BytesIO()
    sink = WithCgroups(out, {2: Hierarchy(top)}, lambda: 5)
    for line in lines:
        sink.write(line)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_each_is_told_once_before_the_line(tmp_path: Path) -> None:
    (tmp_path / 'odd "name').mkdir()
    id = (tmp_path / 'odd "name').stat().st_ino
    line = b'{"ev":"block","cgroup":%d,"cgroup_v1":null,"waker_cgroup":%d}\n' % (id, id)
    event = {"ev": "cgroup", "t_ns": 5, "id": id, "version": 2, "path": '/odd "name'}
    assert printed([line, line], tmp_path) == [event, *[json.loads(line)] * 2]


def test_the_root_is_a_slash(tmp_path: Path) -> None:
    line = b'{"cgroup":%d}\n' % tmp_path.stat().st_ino
    assert printed([line], tmp_path)[0]["path"] == "/"


def test_one_that_is_gone_has_no_event(tmp_path: Path) -> None:
    line = b'{"cgroup":1234567890123,"cgroup_v1":7}\n'
    assert printed([line], tmp_path) == [json.loads(line)]


def test_a_name_is_not_taken_for_an_id(tmp_path: Path) -> None:
    line = json.dumps({"path": f'x"cgroup":{tmp_path.stat().st_ino}'}) + "\n"
    assert len(printed([line.encode()], tmp_path)) == 1


def test_the_hierarchies_are_those_of_block_io(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "cgroup /sys/fs/cgroup/cpu cgroup rw,nosuid,cpu,cpuacct 0 0\n"
        "cgroup /sys/fs/cgroup/blkio cgroup rw,nosuid,blkio 0 0\n"
        "cgroup2 /sys/fs/cgroup/unified cgroup2 rw,nosuid 0 0\n"
    )
    tops = {version: str(found.top) for version, found in mounted(mounts).items()}
    assert tops == {1: "/sys/fs/cgroup/blkio", 2: "/sys/fs/cgroup/unified"}
