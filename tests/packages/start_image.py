# SPDX-License-Identifier: GPL-2.0-only
"""start_image: start the image as its DaemonSet says, with crun and no cluster.

test_oci.py runs it in a tree that has umoci and crun: start_image.py VERSION; the
archive and daemonset.yaml are beside it.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
SAMPLE = "/usr/share/writestall/analysis/writestall/sample"
TRACING = re.compile("--(engine|dump-dir|run-dir)=")
LAYOUT, BUNDLE = HERE / "layout", HERE / "bundle"


def run(*command: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """Run a command; its status and output."""
    return subprocess.run(command, text=True, check=False, **more)


def mount(kind: str, folder: str) -> None:
    """A kernel file system that crun wants, in this process's own namespace."""
    assert run("mount", "--types", kind, kind, folder).returncode == 0, folder


def unpack(version: str) -> None:
    """The archive as a bundle for a runtime."""
    LAYOUT.mkdir()
    archive = HERE / f"writestall-{version}.oci.tar"
    for command in (
        ("tar", "--extract", "--file", str(archive), "--directory", str(LAYOUT)),
        ("umoci", "unpack", "--image", f"{LAYOUT}:{version}", str(BUNDLE)),
    ):
        assert run(*command).returncode == 0, command


def pod() -> dict[str, Any]:
    """The DaemonSet's pod."""
    daemonset, _ = yaml.safe_load_all((HERE / "daemonset.yaml").read_text())
    return dict(daemonset["spec"]["template"]["spec"])


def container() -> dict[str, Any]:
    """Its only container."""
    (only,) = pod()["containers"]
    return dict(only)


def volumes() -> list[dict[str, Any]]:
    """The DaemonSet's: what it reads of its node, and memory for what it writes."""
    sources = {one["name"]: one for one in pod()["volumes"]}
    found = []
    for wanted in container()["volumeMounts"]:
        mount = {"destination": wanted["mountPath"]}
        if wanted.get("readOnly"):
            place = sources[wanted["name"]]["hostPath"]["path"]
            Path(place).mkdir(parents=True, exist_ok=True)
            mount |= {"type": "bind", "source": place, "options": ["rbind", "ro"]}
        else:
            mount |= {"type": "tmpfs", "source": "tmpfs"}
        found.append(mount)
    return found


def start(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    """Start the image's program with these, and the rights that the DaemonSet gives."""
    rights = container()["securityContext"]
    assert rights["capabilities"]["drop"] == ["ALL"]
    names = [f"CAP_{name}" for name in rights["capabilities"]["add"]]
    path = BUNDLE / "config.json"
    config = json.loads(path.read_text())
    process = config["process"]
    process |= {"terminal": False, "args": ["writestall", *arguments]}
    process["noNewPrivileges"] = not rights["allowPrivilegeEscalation"]
    sets = ("bounding", "effective", "permitted")
    process["capabilities"] = dict.fromkeys(sets, names)
    config["root"]["readonly"] = rights["readOnlyRootFilesystem"]
    there = [one["destination"] for one in config["mounts"]]
    config["mounts"] += [one for one in volumes() if one["destination"] not in there]
    path.write_text(json.dumps(config))
    crun = ("crun", "--cgroup-manager", "disabled", "run", "--no-pivot")
    return run(*crun, "--bundle", str(BUNDLE), "writestall", capture_output=True)


def main(version: str) -> None:
    """Start it for each thing that can be seen here."""
    mount("sysfs", "/sys")
    mount("cgroup2", "/sys/fs/cgroup")
    unpack(version)
    done = start(["--version"])
    assert done.stdout.strip() == version, done
    done = start(["demo", "--no-browser", "-o", "/runs/demo"])
    assert "waiting for vdb through jbd2's commit" in done.stdout, done
    for command in {"record", container()["args"][0]}:
        done = start([command, "--help"])
        assert f"usage: writestall {command}" in done.stdout, done
    # It has processes of its own here, by whose numbers no tracer knows them.
    # Its node's kernel cannot be traced from here: the run that comes with the demo is
    # reported, without what belongs to tracing.
    given = [word for word in container()["args"] if not TRACING.match(word)]
    done = start([*given, "--replay", SAMPLE])
    assert done.returncode == 0, done
    assert re.search(r"watched: (\d+) stalls, \1 reported", done.stdout), done
    done = start(["record", "-p", "1", "--for", "1s"])
    assert done.returncode == 2, done
    assert len(done.stderr.splitlines()) == 1, done
    (HERE / "done").write_text(done.stderr)


if __name__ == "__main__":
    main(sys.argv[1])
