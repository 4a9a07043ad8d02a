# SPDX-License-Identifier: GPL-2.0-only
"""test_host: what the manifest says of a host, by files as kernels write them."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from foreign.files import process
from recorder import cgroups, files, filesystems, host, runtimes, tasks
from writestall.common.containers import Container

ID = "4f1d" * 16
MAP = b"1000 10 compiled\n"


def _files(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def test_host_and_sysctls(tmp_path: Path) -> None:
    _files(
        tmp_path,
        {
            "etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 13"\n',
            "proc/meminfo": "MemTotal:  2048 kB\nSwapTotal: 0 kB\n",
            "proc/sys/vm/dirty_ratio": "20\n",
        },
    )
    found = host.describe(tmp_path)
    assert found["distribution"] == "Debian GNU/Linux 13"
    assert (found["memory_bytes"], found["swap_bytes"]) == (2 << 20, 0)
    assert host.writeback(tmp_path) == {"vm.dirty_ratio": "20"}


def test_disks_have_their_queue_partitions_and_what_they_lie_on(tmp_path: Path) -> None:
    vda, dm = "sys/block/vda", "sys/block/dm-0"
    _files(
        tmp_path,
        {
            f"{vda}/dev": "254:0\n",
            f"{vda}/size": "2048\n",
            f"{vda}/queue/scheduler": "none [mq-deadline] kyber\n",
            f"{vda}/queue/wbt_lat_usec": "75000\n",
            f"{vda}/vda1/dev": "254:1\n",
            f"{vda}/vda1/size": "1024\n",
            f"{vda}/vda1/partition": "1\n",
            f"{dm}/dev": "253:0\n",
            f"{dm}/size": "1024\n",
            f"{dm}/dm/name": "vg-data\n",
            f"{dm}/slaves/vda1": "",
            "sys/block/loop0/size": "0\n",
        },
    )
    mapped, disk = host.disks(tmp_path)
    assert (mapped["mapped_name"], mapped["on"]) == ("vg-data", ["vda1"])
    assert (disk["name"], disk["dev"], disk["size_bytes"]) == ("vda", "254:0", 1 << 20)
    assert (disk["scheduler"], disk["wbt_lat_usec"]) == ("mq-deadline", 75000)
    part = {"name": "vda1", "dev": "254:1", "size_bytes": 1 << 19}
    assert disk["partitions"] == [part]


MOUNTINFO = r"""
22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw,errors=remount-ro
23 22 0:22 / /proc rw,nosuid - proc proc rw
24 22 0:40 / /srv/with\040blank rw - nfs4 server:/x rw,vers=4.2
25 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw
26 22 0:27 / /sys/fs/blkio rw - cgroup cgroup rw,blkio
""".lstrip()


def test_file_systems_without_those_on_no_disk(tmp_path: Path) -> None:
    _files(tmp_path, {"proc/self/mountinfo": MOUNTINFO})
    root, nfs = filesystems.describe(tmp_path)
    assert root["mount_options"] == "rw,relatime,errors=remount-ro"
    assert (root["type"], root["dev"], root["source"]) == ("ext4", "254:1", "/dev/vda1")
    assert nfs["mountpoint"] == "/srv/with blank"


def test_limits_in_force_are_those_of_every_level(tmp_path: Path) -> None:
    top, v1 = "sys/fs/cgroup", "sys/fs/blkio"
    throttle = "blkio.throttle.write_bps_device"
    _files(
        tmp_path,
        {
            "proc/self/mountinfo": MOUNTINFO,
            "proc/7/cgroup": "4:cpu,blkio:/old\n0::/a/b\n",
            f"{top}/a/memory.max": "1048576\n",
            f"{top}/a/cpu.max": "max 100000\n",
            f"{top}/a/b/io.max": "254:0 rbps=max wbps=2097152 riops=max wiops=max\n",
            f"{top}/a/b/memory.max": "max\n",
            f"{v1}/old/{throttle}": "254:0 1000\n",
        },
    )
    paths = cgroups.of_task(7, tmp_path)
    assert paths == {"": "/a/b", "cpu": "/old", "blkio": "/old"}
    found = cgroups.Limits(tmp_path).of(paths)
    assert [(row["controller"], row["path"]) for row in found] == [
        ("", "/a"),
        ("", "/a/b"),
        ("blkio", "/old"),
    ]
    assert found[0] == {"controller": "", "path": "/a", "memory.max": "1048576"}
    assert "wbps=2097152" in found[1]["io.max"]
    assert found[2][throttle] == "254:0 1000"


def test_limits_are_read_where_this_process_sees_the_whole_hierarchy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container has its own part mounted, and the host's folder beside it."""
    host, own = tmp_path / "host/cgroup", tmp_path / "sys/fs/cgroup"
    _files(
        tmp_path,
        {
            "proc/1/mountinfo": MOUNTINFO,
            "proc/self/mountinfo": MOUNTINFO
            + "27 22 0:26 /../.. /host/cgroup ro - cgroup2 x rw",
            "proc/7/cgroup": "1:name=systemd:/x\n0::/../other\n",
            "proc/8/cgroup": "0::/\n",
            "host/cgroup/pods/own/memory.max": "1\n",
            "host/cgroup/pods/other/memory.max": "2\n",
        },
    )
    own.parent.mkdir(parents=True)
    own.symlink_to(host / "pods/own")  # the same folder by another name
    monkeypatch.setattr("launcher.cgroups.ROOT_INODE", host.stat().st_ino)
    limits = cgroups.Limits(tmp_path)
    assert limits.paths(7) == {"name=systemd": "/x", "": "/pods/other"}
    for pid, path, most in ((7, "/pods/other", "2"), (8, "/pods/own", "1")):
        (found,) = limits.of(limits.paths(pid))
        assert (found["path"], found["memory.max"]) == (path, most)


@pytest.mark.parametrize(
    ("place", "text", "name", "pod"),
    [
        (f"var/lib/docker/containers/{ID}/config.v2.json", '{"Name": "/db"}', "db", ""),
        (
            f"run/containerd/io.containerd.runtime.v2.task/k8s.io/{ID}/config.json",
            '{"annotations": {"io.kubernetes.cri.container-name": "pg",'
            ' "io.kubernetes.cri.sandbox-name": "db-0"}}',
            "pg",
            "db-0",
        ),
        (f"var/log/containers/db-0_prod_pg-{ID}.log", "", "pg", "db-0"),
        (
            "var/lib/containers/storage/overlay-containers/containers.json",
            f'[{{"id": "{ID}", "names": ["web"]}}]',
            "web",
            "uid",
        ),
        (f"var/lib/docker/containers/{ID}/config.v2.json", "{broken", "", "uid"),
    ],
)
def test_names_are_in_the_files_of_a_runtime(
    tmp_path: Path, place: str, text: str, name: str, pod: str
) -> None:
    _files(tmp_path, {place: text})
    found = runtimes.named(Container("docker", ID, "uid"), tmp_path)
    assert (found.name, found.pod) == (name, pod or "uid")


def test_the_files_of_this_process_are_found() -> None:
    found = tasks.executed(os.getpid())
    assert str(Path("/proc/self/exe").readlink()) in found
    with process(os.getpid()) as here:
        for row in found.values():
            os.close(here.mapped(row.start, row.end))


def test_containers_of_all_cgroups_of_the_events_are_noted(tmp_path: Path) -> None:
    """The one that holds a lock need not be the one that called."""
    id, root, run = "a1" * 32, tmp_path / "root", tmp_path / "run"
    state = root / f"var/lib/docker/containers/{id}"
    state.mkdir(parents=True)
    (state / "config.v2.json").write_text('{"Name":"/backup"}')
    (run / "events").mkdir(parents=True)
    paths = (f"/system.slice/docker-{id}.scope", "/", f"/docker/{id}")
    lines = [f'{{"ev":"cgroup","id":7,"path":"{path}"}}\n' for path in paths]
    (run / "events/stap.jsonl").write_text("".join(lines * 2))
    noting = tasks.Tasks(run, [], root)
    noting.start()
    noting.end()
    container = {"runtime": "docker", "id": id, "pod": "", "name": "backup"}
    assert noting.containers() == [{"path": path} | container for path in paths[::2]]


def test_callers_are_noted_once_and_their_perf_maps_kept(tmp_path: Path) -> None:
    """The events name a process that is there, one that is gone, and broken lines."""
    (tmp_path / "events").mkdir()
    lines = [f'{{"ev":"write","pid":{os.getpid()}}}', '{"ev":"write","pid":4194304}']
    lines += [
        '{"ev":"write","pid":',
        '{"ev":"write","pid":"x"}',
        '{"ev":"block","pid":1}',
    ]
    (tmp_path / "events/stap.jsonl").write_text("\n".join(lines * 2) + "\n")
    perf = Path(f"/tmp/perf-{os.getpid()}.map")
    perf.write_text("1000 10 compiled\n")
    noting = tasks.Tasks(tmp_path, [])
    noting.start()
    found = noting.end()
    perf.unlink()
    assert [task["pid"] for task in found] == [os.getpid()]
    assert (tmp_path / f"symbols/perf-{os.getpid()}.map").read_text()
    assert "build_id" in (tmp_path / "symbols/files.json").read_text()


def test_a_map_that_is_not_whole_in_time_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is on a disk that stalls."""
    monkeypatch.setattr(tasks, "PATIENCE_S", 1.0)
    going_on = threading.Event()
    read = os.read

    def stalled(file: int, size: int) -> bytes:
        if size == len(MAP):
            going_on.wait(60)
        return read(file, size)

    root, run, place = tmp_path / "root", tmp_path / "run", Path("proc/7/root/tmp")
    (run / "events").mkdir(parents=True)
    (root / place).mkdir(parents=True)
    (root / "proc/7/comm").write_text("java\n")
    (root / "proc/7/status").write_text(f"Uid:\t0\t{os.geteuid()}\t0\t0\n")
    (root / place / "perf-7.map").write_bytes(MAP)
    noting = tasks.Tasks(run, [7], root)
    monkeypatch.setattr(os, "read", stalled)
    noting.start()
    assert [task["comm"] for task in noting.end()] == ["java"]
    kept = [path.name for path in (run / "symbols").iterdir()]
    going_on.set()
    noting.join()
    kept += [path.name for path in (run / "symbols").iterdir()]
    assert kept == ["files.json"] * 2


def test_a_map_above_the_bound_leaves_no_file(tmp_path: Path) -> None:
    with (tmp_path / "source").open("w+b") as source:
        source.write(bytes((5 << 20) + 1))
        source.seek(0)
        with pytest.raises(OSError, match="File too large"):
            files.copy_whole(source.fileno(), tmp_path / "map", 5 << 20)
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_of_a_map_that_grows_what_it_had_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = os.read
    with (tmp_path / "source").open("w+b", buffering=0) as source:
        source.write(MAP)
        source.seek(0)

        def growing(file: int, size: int) -> bytes:
            found = read(file, size)
            with (tmp_path / "source").open("ab") as more:
                more.write(MAP)
            return found

        monkeypatch.setattr(os, "read", growing)
        files.copy_whole(source.fileno(), tmp_path / "map", 5 << 20)
    assert (tmp_path / "map").read_bytes() == MAP
