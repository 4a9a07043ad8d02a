# SPDX-License-Identifier: GPL-2.0-only
"""runtimes: find the names of containers and pods in the files of their runtimes.

A cgroup's path has ids. Each runtime keeps the names where root can read them; none is
asked, for one that hangs on a slow disk would not answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from foreign import files
from recorder.files import ROOT
from writestall.common.containers import Container

# The keys of a container's name and its pod's among its annotations: containerd's
# internal/cri/annotations, cri-o's pkg/annotations (that of the kubelet).
ANNOTATIONS = (
    ("io.kubernetes.cri.container-name", "io.kubernetes.cri.sandbox-name"),
    ("io.kubernetes.container.name", "io.kubernetes.pod.name"),
)
# Folders of root's, and below them a container's OCI configuration, by its id.
BUNDLES = (
    ("run/containerd/io.containerd.runtime.v2.task/k8s.io", "{id}/config.json"),
    ("run/containers/storage/overlay-containers", "{id}/userdata/config.json"),
    ("var/lib/containers/storage/overlay-containers", "{id}/userdata/config.json"),
)
MOST_BYTES = 8 << 20  # of a file, which any image's author may fill
# kubelet's links to the logs: POD_NAMESPACE_CONTAINER-ID.log
LOGS = "var/log/containers"
Names = tuple[str, str]  # of the container and of its pod; empty where unknown


def named(container: Container, root: Path = ROOT) -> Container:
    """The same with its name, and its pod's, where a file has them."""
    if not container.id:
        return container
    for find in FINDERS:
        name, pod = find(container.id, root)
        if name or pod:
            return replace(
                container, name=name or container.name, pod=pod or container.pod
            )
    return container


def _docker(id: str, root: Path) -> Names:
    state = _json(root / "var/lib/docker/containers", f"{id}/config.v2.json")
    return str(state.get("Name") or "").lstrip("/"), ""


def _annotated(id: str, root: Path) -> Names:
    for folder, name in BUNDLES:
        state = _json(root / folder, name.format(id=id)).get("annotations")
        if not isinstance(state, dict):
            continue
        for name, pod in ANNOTATIONS:
            if name in state or pod in state:
                return str(state.get(name, "")), str(state.get(pod, ""))
    return "", ""


def _kubelet(id: str, root: Path) -> Names:
    for link in (root / LOGS).glob(f"*-{id}.log"):
        # no name has a `_`: each is a label of DNS (RFC 1123)
        pod, _, rest = link.name.removesuffix(f"-{id}.log").partition("_")
        return rest.partition("_")[2], pod
    return "", ""


def _podman(id: str, root: Path) -> Names:
    folder = root / "var/lib/containers/storage/overlay-containers"
    rows = _parsed(folder, "containers.json")
    for row in rows if isinstance(rows, list) else ():
        names = row.get("names") if isinstance(row, dict) else None
        if isinstance(names, list) and names and row.get("id") == id:
            return str(names[0]), ""
    return "", ""


FINDERS: tuple[Callable[[str, Path], Names], ...] = (
    _docker,
    _annotated,
    _kubelet,
    _podman,
)


def _json(folder: Path, name: str) -> dict[str, Any]:
    found = _parsed(folder, name)
    return found if isinstance(found, dict) else {}


def _parsed(folder: Path, name: str) -> Any:
    """What a file of JSON holds; None where it is missing, refused or none."""
    try:
        return json.loads(files.below(folder, name, MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return None
