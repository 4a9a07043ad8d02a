# SPDX-License-Identifier: GPL-2.0-only
"""test_redacted: no name of a host's users is left in a redacted run."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support import PROJECT
from writestall.cli.main import main
from writestall.common.containers import container_of
from writestall.export.redacted.events import redacted
from writestall.export.redacted.names import Names
from writestall.export.redacted.run import redact

SCHEMA = json.loads((PROJECT / "docs/events.schema.json").read_text())["$defs"]
KINDS = [name for name, row in SCHEMA.items() if "properties" in row]
# What tracers say of themselves and the kernel.
NOT_A_NAME = {"ev", "engine", "engine_version", "script", "kernel", "what", "why"}
NOT_A_NAME |= {"function"}
# Names in capitals: no word of ours is.
NAMES = st.text("QXZJV0_-. \u00e9\U0001f4be", min_size=4, max_size=15).filter(
    lambda name: sum(letter in "QXZJV" for letter in name) >= 3
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map(lambda parts: "/" + "/".join(parts))


def _may_be_text(row: Any) -> bool:
    """Whether a field can hold any text."""
    row = SCHEMA.get(row.get("$ref", "").rpartition("/")[2], row) if row else {}
    kinds = row.get("type", ()) if isinstance(row, dict) else ()
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return "string" in kinds and not {"enum", "pattern"} & row.keys()


def _event(kind: str, name: str) -> dict[str, Any]:
    """An event whose every text is that name."""
    event: dict[str, Any] = {"ev": kind, "t_ns": 1, "later_field": name}
    for key, row in SCHEMA[kind]["properties"].items():
        if key not in NOT_A_NAME and row is not True and _may_be_text(row):
            event[key] = name
        elif key == "ustack":
            event[key] = [f"{name}+0x1f [{name}]", "0x7f12"]
        elif key.endswith("kstack"):
            event[key] = ["folio_wait_bit_common+0x1/0x2", "vfs_write+0xd"]
    return event


@pytest.mark.parametrize("kind", KINDS)
@given(name=NAMES)
def test_no_field_of_an_event_keeps_a_name(kind: str, name: str) -> None:
    line = json.dumps(_event(kind, name), ensure_ascii=False).encode()
    fields = redacted(line, Names())
    assert fields and name not in fields.decode()
    assert json.loads(fields)["ev"] == kind


def test_what_a_disk_did_is_kept() -> None:
    """And no other word in its lists."""
    event = {"ev": "ios", "t_ns": 1, "op": "write", "flags": ["meta", "ann"]}
    event["latencies"] = ["1024:3", "of-ann", "9:9 ann"]
    event |= {"depths": ["1:3:900", "ann"], "gaps": ["0:3", "ann:1"]}
    told = redacted(json.dumps(event).encode(), Names())
    assert told is not None
    kept = {"flags": ["meta"], "latencies": ["1024:3"]}
    kept |= {"depths": ["1:3:900"], "gaps": ["0:3"]}
    assert json.loads(told) == event | kept


def test_the_lock_of_an_interpreter_is_kept() -> None:
    """And no other variable, or the file that it is in."""
    event = {"ev": "block", "t_ns": 1, "lock_in": "_PyRuntime+0x8 [of-ann]"}
    fields = redacted(json.dumps(event).encode(), Names())
    assert fields and json.loads(fields)["lock_in"] == "_PyRuntime+0x8 [python]"
    event["lock_in"] = "ann_lock+0x8 [of-ann]"
    fields = redacted(json.dumps(event).encode(), Names())
    assert fields and b"ann" not in fields and b"+0x8 [" in fields


def _choices(row: Any) -> list[str]:
    """The texts that a field is one of."""
    row = SCHEMA.get(row.get("$ref", "").rpartition("/")[2], row) if row else {}
    found = row.get("enum", ()) if isinstance(row, dict) else ()
    return [text for text in found if isinstance(text, str)]


@pytest.mark.parametrize("kind", KINDS)
def test_what_tracers_choose_from_is_kept(kind: str) -> None:
    for key, row in SCHEMA[kind]["properties"].items():
        for text in _choices(row) if isinstance(row, dict) else ():
            line = json.dumps({"ev": kind, key: text}).encode()
            fields = redacted(line, Names())
            assert fields and json.loads(fields)[key] == text


def test_a_cgroup_is_still_one_of_a_container() -> None:
    path = f"/system.slice/docker-{'4f1d' * 16}.scope"
    limits = "8:0 rbps=max wbps=1048576\n8:16 wiops=50"
    event = {"ev": "cgroup", "id": 7, "version": 2, "path": path, "io_max": limits}
    fields = redacted(json.dumps(event).encode(), Names())
    assert fields and path not in fields.decode()
    assert json.loads(fields)["io_max"] == limits
    found = container_of(json.loads(fields)["path"])
    assert found and found.runtime == "docker"


@st.composite
def runs(draw: st.DrawFn) -> dict[str, Any]:
    """The names of a run, by what they name."""
    comms = draw(st.lists(NAMES, min_size=1, max_size=3, unique=True))
    return {
        "host": draw(NAMES),
        "comms": comms,
        "paths": draw(st.lists(PATHS, min_size=2, max_size=4, unique=True)),
        "unit": draw(NAMES),
        "pod": draw(NAMES),
        "option": draw(NAMES).replace(",", ""),
    }


def _manifest(fields: dict[str, Any]) -> dict[str, Any]:
    path, comm = fields["paths"][0], fields["comms"][0]
    slice = f"/system.slice/{fields['unit']}.service"
    return {
        "format": 1,
        "status": "failed",
        "reason": f"trace: {path}: No such file or directory",
        "recorded": {"pid": 1, "comm": comm, "path": path, "device": path},
        "kernel": "6.12.1",
        "host": {"name": fields["host"], "distribution": "Debian", "cpus": 2},
        "disks": [
            {"name": "dm-0", "dev": "254:0", "mapped_name": comm, "on": ["sda1", comm]}
        ],
        "filesystems": [
            {
                "type": "nfs",
                "dev": "0:40",
                "source": f"{fields['host']}:{path}",
                "mountpoint": path,
                "mount_options": f"rw,data=ordered,addr={fields['option']}",
            }
        ],
        "tasks": [
            {
                "pid": 1,
                "comm": comm,
                "exe": path,
                "cgroup": slice,
                "cgroup_v1": {"memory": slice},
                "container": {
                    "runtime": "docker",
                    "id": "ab" * 32,
                    "pod": fields["pod"],
                    "name": fields["unit"],
                },
                "limits": [{"controller": "", "path": slice, "memory.max": "1"}],
            }
        ],
        "writer": {"name": comm, "argv": [comm, path], "exit_status": 0},
        "steps": [{"name": "trace", "status": "failed", "detail": path}],
        "later_key": {path: comm},
        "scenario": {"name": comm},
    }


def _write(run: Path, fields: dict[str, Any]) -> None:
    (run / "events").mkdir(parents=True)
    (run / "symbols").mkdir()
    (run / "manifest.json").write_text(json.dumps(_manifest(fields)))
    events = []
    for at, comm in enumerate(fields["comms"]):
        for path in fields["paths"]:
            event = _event("write", comm)
            events.append(event | {"t_ns": at, "tid": 7, "dur_ns": 9, "path": path})
    lines = [json.dumps(event, ensure_ascii=False) for event in events]
    lines += [f"{fields['comms'][0]}: no event", '{"ev":']
    (run / "events/stap.jsonl").write_text("\n".join(lines) + "\n")
    (run / "events/stap.log").write_text(fields["paths"][0])
    log = [f"{fields['comms'][0]} {fields['host']}", " vfs_write+0x1/0x2"]
    log += [
        f"INFO: task {comm}:12 blocked for more than 30 seconds."
        for comm in fields["comms"]
    ]
    log += [f"Comm: {comm} at {fields['paths'][0]}" for comm in fields["comms"]]
    (run / "kernel.log").write_text("".join(f"[    1.000000] {line}\n" for line in log))
    with gzip.open(run / "kallsyms.gz", "wt") as file:
        file.write("ffff t vfs_write\n" + f"ffff t prog_{fields['unit']}\t[bpf]\n")
    files = [{"path": path, "build_id": "ab"} for path in fields["paths"]]
    (run / "symbols/files.json").write_text(json.dumps(files))
    (run / "symbols/perf-1.map").write_text(fields["unit"])
    (run / fields["unit"]).write_text("what somebody put there")


def _content(run: Path) -> str:
    """All bytes of a run, unpacked, and the names of its files."""
    texts = []
    for path in run.rglob("*"):
        texts.append(str(path.relative_to(run)))
        if path.is_file():
            data = path.read_bytes()
            data = gzip.decompress(data) if path.suffix == ".gz" else data
            texts.append(data.decode())
    return "\n".join(texts)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(fields=runs())
def test_no_name_is_left_in_any_file(fields: dict[str, Any]) -> None:
    with TemporaryDirectory() as folder:
        run, target = Path(folder, "run"), Path(folder, "redacted")
        _write(run, fields)
        redact(run, target)
        content = _content(target)
        parts = {part for path in fields["paths"] for part in path.split("/") if part}
        names = {
            *fields["comms"],
            *parts,
            fields["host"],
            fields["unit"],
            fields["pod"],
        }
        left = [name for name in {*names, fields["option"]} if name in content]
        assert not left, content
        _assert_consistent(run, target)


def _assert_consistent(run: Path, target: Path) -> None:
    """The same names became the same tokens, and different ones different tokens."""
    rows = []
    for place in (run, target):
        lines = (place / "events/stap.jsonl").read_text().splitlines()
        rows.append([json.loads(line) for line in lines if line.endswith("}")])
    for key in ("comm", "path"):
        pairs = {(old[key], new[key]) for old, new in zip(*rows, strict=True)}
        assert (
            len(pairs) == len({old for old, _ in pairs}) == len({n for _, n in pairs})
        )
    manifest = json.loads((target / "manifest.json").read_text())
    assert manifest["recorded"]["comm"] == rows[1][0]["comm"]
    assert manifest["recorded"]["path"] == rows[1][0]["path"]


def test_what_the_analysis_goes_by_is_kept() -> None:
    names = Names()
    for comm in ("jbd2/nvme0n1p2-", "jbd2/vdb-8", "kworker/u8:1", "xfsaild/dm-3"):
        assert names.comm(comm) == comm
    assert re.fullmatch(r"task\d+", names.comm("jbd2/customer-8"))
    id = "0123456789abcdef" * 4
    path = f"/kubepods.slice/kubepods-pod{'0a1b2c3d_4e5f_6071_8293_a4b5c6d7e8f9'}.slice"
    found = container_of(names.cgroup(f"{path}/cri-containerd-{id}.scope"))
    assert found and found.runtime == "containerd" and found.pod
    assert found.id != id and len(found.id) == 64
    assert names.cgroup("/system.slice/acme.service").endswith(".service")


def test_the_path_of_a_cgroups_event_is_its_manifests() -> None:
    names, path = Names(), "/system.slice/acme.service"
    event = {"ev": "cgroup", "t_ns": 1, "id": 7, "version": 2, "path": path}
    line = redacted(json.dumps(event).encode(), names)
    assert line is not None
    assert json.loads(line) == event | {"path": names.cgroup(path)}
    assert "acme" not in line.decode()


def test_a_redacted_run_is_explained_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, target = tmp_path / "convoy", tmp_path / "for-others"
    shutil.copytree(PROJECT / "tests/data/runs/convoy-6.12", run)
    assert main(["export", str(run), "--redact", "-o", str(target)]) == 0
    assert "left out: " in capsys.readouterr().err
    sums = []
    for place in (run, target):
        assert main(["explain", str(place), "--json", "--all"]) == 0
        summary = json.loads(capsys.readouterr().out)["summary"]
        sums.append(
            (summary["stalls"], summary["stall_ns"], summary["stall_ns_by_class"])
        )
    assert sums[0] == sums[1]


def test_a_wrong_use_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, said in {
        "": "name a format with --to, or --redact",
        "--redact": "--redact: name a new folder with -o",
        f"--redact -o {tmp_path}": "already there; name a new folder",
    }.items():
        assert main(["export", str(tmp_path), *words.split()]) == 2
        assert said in capsys.readouterr().err
