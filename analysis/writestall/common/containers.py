# SPDX-License-Identifier: GPL-2.0-only
"""containers: find a container, its pod or a systemd unit in a cgroup's path.

The path is that of version 2, or of any hierarchy of version 1. Nothing is read: names
that are not in the path, but in files of the runtime, are for who runs on that host.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SHORT_ID = 12  # characters, as docker ps and crictl ps show ids


@dataclass(frozen=True, slots=True)
class Container:
    """A container, or a unit of systemd (runtime `systemd`, no id).

    runtime  docker, containerd, cri-o, podman, lxc, nspawn, systemd; kubernetes where
             the path names a pod, but not by what its container runs
    id       as the runtime gave it, empty where the path has none
    pod      the pod's uid (of Kubernetes), empty for none; its name once that is known
    name     of the unit, or of a container whose path has its name; else empty
    """

    runtime: str
    id: str = ""
    pod: str = ""
    name: str = ""

    def __str__(self) -> str:
        label = self.name or self.id[:SHORT_ID]
        if not self.pod:
            return label
        return f"{label} in pod {self.pod}" if label else f"pod {self.pod}"


_ID = r"(?P<id>[0-9a-f]{64})"
# What a component of a path says: the runtime, and the form. The scopes are named by
# what creates them: moby (daemon/daemon_unix.go, cgroup parent `docker`), containerd
# (internal/cri, `cri-containerd`), cri-o (internal/config/cgmgr, `crio`), libpod
# (libpod/container_internal.go, `libpod`), nerdctl (pkg/cmd/container, `nerdctl`).
_CONTAINERS = tuple(
    (runtime, re.compile(form))
    for runtime, form in (
        ("docker", rf"docker-{_ID}\.scope"),
        ("containerd", rf"(?:cri-containerd|nerdctl)-{_ID}\.scope"),
        ("containerd", rf".*:(?:cri-containerd|nerdctl):{_ID}"),
        ("cri-o", rf"crio-{_ID}(?:\.scope)?"),
        ("podman", rf"libpod-{_ID}(?:\.scope)?"),
        ("lxc", r"lxc\.payload\.(?P<name>.+)"),
        ("nspawn", r"systemd-nspawn@(?P<name>.+)\.service"),
        ("nspawn", r"machine-(?P<name>(?!qemu).+)\.scope"),
    )
)
# Without systemd, the component above says whose the bare id, or the name, is.
_BARE_ID = re.compile(_ID)
_PARENTS = {"docker": "docker", "default": "containerd", "k8s.io": "containerd"}
_LXC = "lxc"
# kubelet, pkg/kubelet/cm/pod_container_manager_linux.go and cgroup_manager_linux.go:
# systemd's names have `_` for the `-` of a uid.
_POD = re.compile(
    r"(?:kubepods(?:-\w+)?-)?pod(?P<uid>[0-9a-f][0-9a-f_-]{30,35})(\.slice)?"
)
_UNIT = re.compile(r".+\.(?:service|scope|socket|mount|swap)")
_ESCAPED = re.compile(r"\\x([0-9a-f]{2})")


def container_of(path: str) -> Container | None:
    """The innermost container of a cgroup's path, else its unit; None for neither."""
    parts = [part for part in path.split("/") if part]
    pod = _pod(parts)
    for at in range(len(parts) - 1, -1, -1):
        above = parts[at - 1] if at else ""
        if found := _container(parts[at], above, pod):
            return found
    if pod:
        return Container("kubernetes", pod=pod)
    # The innermost unit is what runs: user@1000.service holds a user's own ones.
    unit = next((part for part in reversed(parts) if _UNIT.fullmatch(part)), None)
    return Container("systemd", name=_unescaped(unit)) if unit else None


def _pod(parts: list[str]) -> str:
    """The uid of the pod of these components; empty for none."""
    found = [match["uid"] for part in parts if (match := _POD.fullmatch(part))]
    return found[-1].replace("_", "-") if found else ""


def _container(part: str, above: str, pod: str) -> Container | None:
    for runtime, form in _CONTAINERS:
        if match := form.fullmatch(part):
            groups = match.groupdict()
            name = _unescaped(groups.get("name") or "")
            return Container(runtime, groups.get("id") or "", pod, name)
    if above == _LXC:
        return Container(_LXC, name=part)
    if _BARE_ID.fullmatch(part):
        in_pod = _POD.fullmatch(above) is not None
        runtime = "kubernetes" if in_pod else _PARENTS.get(above, "")
        return Container(runtime, part, pod) if runtime else None
    return None


def _unescaped(name: str) -> str:
    """A unit's name as people write it: systemd.unit(5), string escaping."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), name)
