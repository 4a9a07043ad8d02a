# SPDX-License-Identifier: GPL-2.0-only
"""This test will print a `cgroup` event before the first line that tells of each."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from launcher import cgroups
from launcher.cgroups import AGAIN_NS, Hierarchy, WithCgroups, mounted


def printed(lines: list[bytes], top: Path) -> list[dict[str, object]]:
    out = io.BytesIO()
    sink = WithCgroups(out, {2: Hierarchy(top)}, lambda: 5)
    for line in lines:
        sink.write(line)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_each_is_reported_once_before_the_line(tmp_path: Path) -> None:
    (tmp_path / 'odd "name').mkdir()
    id = (tmp_path / 'odd "name').stat().st_ino
    line = b'{"ev":"block","cgroup":%d,"cgroup_v1":null,"waker_cgroup":%d}\n' % (id, id)
    event = {"ev": "cgroup", "t_ns": 5, "id": id, "version": 2, "path": '/odd "name'}
    assert printed([line, line], tmp_path) == [event, *[json.loads(line)] * 2]


def test_the_root_is_a_slash(tmp_path: Path) -> None:
    line = b'{"cgroup":%d}\n' % tmp_path.stat().st_ino
    assert printed([line], tmp_path)[0]["path"] == "/"


LIMIT = "8:0 rbps=max wbps=1048576 riops=max wiops=max"


def _limited(top: Path) -> tuple[Path, int, int]:
    """A cgroup below one that has a limit, and both ids."""
    own = top / "pod/own"
    own.mkdir(parents=True)
    (own / "io.max").write_text("")
    (own.parent / "io.max").write_text(f"{LIMIT}\n")
    return own, own.parent.stat().st_ino, own.stat().st_ino


def test_a_limit_above_is_reported_once_and_first(tmp_path: Path) -> None:
    own, above, id = _limited(tmp_path)
    (own.parent / "other").mkdir()
    other = (own.parent / "other").stat().st_ino
    lines = [b'{"cgroup":%d}\n' % one for one in (id, other, above)]
    rows = [row for row in printed(lines, tmp_path) if "ev" in row]
    assert [row["id"] for row in rows] == [above, id, other]
    assert [row.get("io_max") for row in rows] == [LIMIT, None, None]
    assert [row["path"] for row in rows] == ["/pod", "/pod/own", "/pod/other"]


def test_a_limit_that_came_later_is_reported_when_it_keeps_a_bio_back(
    tmp_path: Path,
) -> None:
    own, above, id = _limited(tmp_path)
    (own.parent / "io.max").write_text("")
    out, now = io.BytesIO(), [0]
    sink = WithCgroups(out, {2: Hierarchy(tmp_path)}, lambda: now[0])
    free = b'{"ev":"io","cgroup":%d,"throttled_ns":0}\n' % id
    kept = b'{"ev":"io","cgroup":%d,"throttled_ns":7}\n' % id
    sink.write(free)
    (own.parent / "io.max").write_text(f"{LIMIT}\n")
    for line in (free, kept, kept):
        sink.write(line)
    (own.parent / "io.max").write_text("8:0 wbps=7\n")
    sink.write(kept)
    now[0] = AGAIN_NS
    sink.write(kept)
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(row["ev"], row.get("id"), row.get("io_max")) for row in rows] == [
        *(("cgroup", id, None), ("io", None, None), ("io", None, None)),
        *(("cgroup", above, LIMIT), *[("io", None, None)] * 3),
        *(("cgroup", above, "8:0 wbps=7"), ("io", None, None)),
    ]


def test_one_that_is_gone_has_no_event(tmp_path: Path) -> None:
    line = b'{"cgroup":1234567890123,"cgroup_v1":7}\n'
    assert printed([line], tmp_path) == [json.loads(line)]


def test_a_name_is_not_taken_for_an_id(tmp_path: Path) -> None:
    line = json.dumps({"path": f'x"cgroup":{tmp_path.stat().st_ino}'}) + "\n"
    assert len(printed([line.encode()], tmp_path)) == 1


def test_the_hierarchies_are_those_of_block_io(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "30 24 0:26 / /sys/fs/cgroup/cpu rw,nosuid - cgroup cgroup rw,cpu,cpuacct\n"
        "31 24 0:27 / /sys/fs/cgroup/blkio rw,nosuid - cgroup cgroup rw,blkio\n"
        "32 24 0:28 / /sys/fs/cgroup/unified rw,nosuid - cgroup2 cgroup2 rw\n"
    )
    tops = {version: str(found.top) for version, found in mounted(mounts).items()}
    assert tops == {1: "/sys/fs/cgroup/blkio", 2: "/sys/fs/cgroup/unified"}


def test_of_several_mounts_it_is_that_of_the_hierarchy_s_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container's own is of its part; the host's may be mounted beside it."""
    own, host, mounts = (tmp_path / name for name in ("own", "host", "mounts"))
    row = "30 24 0:28 / {} rw - cgroup2 cgroup2 rw\n"
    mounts.write_text(row.format(own) + row.format(host))
    own.mkdir()
    assert mounted(mounts)[2].top == own
    host.mkdir()
    monkeypatch.setattr(cgroups, "ROOT_INODE", host.stat().st_ino)
    assert mounted(mounts)[2].top == host


def test_the_root_of_a_hierarchy_has_the_first_number() -> None:
    """sysfs is kernfs, too, and all of it is mounted in every container."""
    assert Path("/sys").stat().st_ino == cgroups.ROOT_INODE
