# SPDX-License-Identifier: GPL-2.0-only
"""test_containers: what the path of a cgroup says, by runtime and version."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from writestall.common.containers import Container, container_of

ID = "4f1d" * 16
UID = "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"
SLICE = f"kubepods-burstable-pod{UID.replace('-', '_')}.slice"
BURSTABLE = "/kubepods.slice/kubepods-burstable.slice"
GUARANTEED = f"/kubepods.slice/kubepods-pod{UID.replace('-', '_')}.slice"

TOLD = {
    f"/system.slice/docker-{ID}.scope": Container("docker", ID),
    f"/docker/{ID}": Container("docker", ID),
    f"/docker/{ID}/init.scope": Container("docker", ID),
    f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope"
    "/container": Container("podman", ID),
    f"/machine.slice/libpod-{ID}.scope": Container("podman", ID),
    f"{BURSTABLE}/{SLICE}/cri-containerd-{ID}.scope": Container("containerd", ID, UID),
    f"{GUARANTEED}/crio-{ID}.scope": Container("cri-o", ID, UID),
    f"{BURSTABLE}/{SLICE}/docker-{ID}.scope": Container("docker", ID, UID),
    f"/kubepods/besteffort/pod{UID}/{ID}": Container("kubernetes", ID, UID),
    f"/kubepods/pod{UID}": Container("kubernetes", "", UID),
    f"/system.slice/containerd.service/{SLICE}:cri-containerd:{ID}": Container(
        "containerd", ID
    ),
    f"/default/{ID}": Container("containerd", ID),
    "/lxc/101/ns/system.slice/cron.service": Container("lxc", name="101"),
    "/lxc.payload.web/init.scope": Container("lxc", name="web"),
    "/machine.slice/systemd-nspawn@build.service/payload": Container(
        "nspawn", name="build"
    ),
    "/system.slice/system-postgresql.slice/postgresql@15-main.service": Container(
        "systemd", name="postgresql@15-main.service"
    ),
    "/system.slice/dev-disk-by\\x2duuid-1.swap": Container(
        "systemd", name="dev-disk-by-uuid-1.swap"
    ),
    "/user.slice/user-1000.slice/session-3.scope": Container(
        "systemd", name="session-3.scope"
    ),
    # conmon watches a container from outside
    f"/machine.slice/libpod-conmon-{ID}.scope": Container(
        "systemd", name=f"libpod-conmon-{ID}.scope"
    ),
    "/": None,
    "": None,
    "/user.slice": None,
    f"/{ID}": None,
}


@pytest.mark.parametrize(("path", "expected"), TOLD.items())
def test_a_path_names_its_container(path: str, expected: Container | None) -> None:
    assert container_of(path) == expected


def test_it_is_shown_as_people_name_it() -> None:
    shown = {
        str(Container("containerd", ID, UID)): f"4f1d4f1d4f1d in pod {UID}",
        str(Container("cri-o", ID, "db-0", "postgres")): "postgres in pod db-0",
        str(Container("kubernetes", pod="db-0")): "pod db-0",
        str(Container("systemd", name="cron.service")): "cron.service",
    }
    assert all(text == wanted for text, wanted in shown.items())


@given(st.text(max_size=200))
def test_any_text_has_an_answer(path: str) -> None:
    found = container_of(path)
    assert found is None or str(found)
