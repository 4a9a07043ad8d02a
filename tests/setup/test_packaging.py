# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare what the packages state in several places, without a build."""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import subprocess
import tarfile
import time
import tomllib
from pathlib import Path

import pytest
import yaml

import writestall
from driver.packaging import RECIPES, deb, oci, release, sources, wheels
from recorder import runtimes
from support import PROJECT
from watcher import presence
from writestall.cli.commands import CLONE, COMMANDS, TRACERS
from writestall_base.errors import UserError


def test_program_packages_and_module_share_one_version() -> None:
    assert set(sources.versions().values()) == {writestall.__version__}


def test_copies_that_differ_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    stated = {"a": "0.1.0", "b": "0.2.0"}
    monkeypatch.setattr(sources, "versions", lambda: stated)
    with pytest.raises(UserError, match="one version, not"):
        sources.version()


def test_a_copy_gets_another_version_everywhere(tmp_path: Path) -> None:
    for name in sources.PLACES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((PROJECT / name).read_text())
    sources.stamp(tmp_path, "7.8.9")
    for name, pattern in sources.PLACES.items():
        assert re.findall(pattern, (tmp_path / name).read_text(), re.M) == ["7.8.9"]


@pytest.mark.parametrize("text", ["1", "0.1-1", "", "1.2~rc"])
def test_a_version_is_numbers(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="want a version"):
        deb.a_version(text)


def test_every_wheel_is_pinned() -> None:
    for wheel in tomllib.loads(wheels.TABLE.read_text())["wheel"]:
        assert re.fullmatch(r"[a-z]+==[\d.]+", wheel["requirement"])
        assert re.fullmatch(r"[0-9a-f]{64}", wheel["sha256"])


def test_the_injector_is_no_ones_dependency() -> None:
    stanzas = (RECIPES / "debian/control").read_text().split("\n\n")
    for stanza in stanzas:
        fields = stanza.partition("\nDescription:")[0]
        named = "biodelay" in fields.partition("Package: ")[2].partition("\n")[2]
        assert not named, fields


def test_the_daemonset_runs_the_image_of_this_version() -> None:
    text = oci.DAEMONSET.read_text()
    assert f"image: writestall:{sources.version()}\n" in text


def test_every_capability_of_the_daemonset_has_its_reason() -> None:
    text = oci.DAEMONSET.read_text()
    added = text.partition("add:\n")[2].partition("resources:")[0].splitlines()
    capabilities = [line.strip() for line in added if line.strip().startswith("-")]
    assert capabilities
    for line in capabilities:
        assert re.fullmatch(r"- [A-Z_]+ # \S.*", line), line
    assert "drop: [ALL]" in text
    assert "SYS_ADMIN" not in "".join(capabilities)


@pytest.mark.parametrize(
    ("name", "there", "here"),
    [
        ("cgroups", "/sys/fs/cgroup", "/host/sys/fs/cgroup"),
        ("logs", f"/{runtimes.LOGS}", f"/{runtimes.LOGS}"),
    ],
)
def test_the_daemonset_reads_the_names_of_its_node(
    name: str, there: str, here: str
) -> None:
    text = oci.DAEMONSET.read_text()
    assert f"- {{name: {name}, mountPath: {here}, readOnly: true}}\n" in text
    volume = text.partition(f"- name: {name}\n")[2].splitlines()[0]
    assert volume.strip().startswith(f"hostPath: {{path: {there}, type: ")


def test_a_release_names_the_image_by_its_digest(tmp_path: Path) -> None:
    archive, digest = tmp_path / "image.tar", f"sha256:{'4f1d' * 16}"
    index = json.dumps({"manifests": [{"digest": digest}]}).encode()
    with tarfile.open(archive, "w") as layout:
        member = tarfile.TarInfo("./index.json")
        member.size = len(index)
        layout.addfile(member, io.BytesIO(index))
    version = sources.version()
    text = oci.daemonset(archive, version)
    assert f"image: writestall:{version}@{digest}\n" in text
    assert text.replace(f"@{digest}", "") == oci.DAEMONSET.read_text()
    with pytest.raises(UserError, match=r"names no image of version 7\.8\.9"):
        oci.daemonset(archive, "7.8.9")


def test_the_daemonset_may_do_and_be_asked_little() -> None:
    daemonset, policy = yaml.safe_load_all(oci.DAEMONSET.read_text())
    template = daemonset["spec"]["template"]
    (only,) = template["spec"]["containers"]
    rights = only["securityContext"]
    assert rights["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not rights["privileged"] and not rights["allowPrivilegeEscalation"]
    assert "hostNetwork" not in template["spec"]  # no policy would hold there
    (port,) = only["ports"]
    assert only["readinessProbe"]["httpGet"]["port"] == port["name"]
    pids = next(word for word in only["args"] if word.startswith("--run-dir="))
    (*_, script) = only["livenessProbe"]["exec"]["command"]
    assert f"{pids.partition('=')[2]}/{presence.NAME} " in script
    # The folder of a volume is readable for all; one that watch makes is not.
    (mounted,) = [x["mountPath"] for x in only["volumeMounts"] if x["name"] == "runs"]
    assert f"--dump-dir={mounted}/watch" in only["args"]
    selected = policy["spec"]["podSelector"]["matchLabels"]
    assert selected.items() <= template["metadata"]["labels"].items()
    assert policy["metadata"]["namespace"] == daemonset["metadata"]["namespace"]
    assert set(policy["spec"]["policyTypes"]) == {"Ingress", "Egress"}
    assert "egress" not in policy["spec"]
    (ingress,) = policy["spec"]["ingress"]
    assert ingress["ports"] == [{"port": port["name"], "protocol": "TCP"}]


@pytest.mark.parametrize(("ago_s", "alive"), [(0, True), (100, True), (200, False)])
def test_the_daemonsets_probe_sees_whether_watch_goes_on(
    tmp_path: Path, ago_s: int, alive: bool
) -> None:
    daemonset, _ = yaml.safe_load_all(oci.DAEMONSET.read_text())
    (only,) = daemonset["spec"]["template"]["spec"]["containers"]
    *shell, script = only["livenessProbe"]["exec"]["command"]
    there = presence.Presence(tmp_path)
    last_s = time.time() - ago_s
    os.utime(tmp_path / presence.NAME, (last_s, last_s))
    done = subprocess.run(
        [*shell, script.replace("/tmp/watch", str(tmp_path))], check=False
    )
    there.leave()
    assert (done.returncode == 0) == alive


def test_a_command_without_its_part_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("writestall.cli.commands.find_spec", lambda name: None)
    assert COMMANDS["lab"].lacks == CLONE
    assert COMMANDS["record"].lacks == TRACERS


def test_a_release_is_made_of_a_commit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(release, "STEPS", ())
    args = argparse.Namespace(output=tmp_path)
    monkeypatch.setattr(sources, "dirty", lambda: True)
    with pytest.raises(UserError, match="commit them"):
        release.main(args)
    monkeypatch.setattr(sources, "dirty", lambda: False)
    (tmp_path / "old").touch()
    with pytest.raises(UserError, match="is not empty"):
        release.main(args)


def test_checksums_are_those_of_sha256sum(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    (tmp_path / release.SUMS).write_text("old")
    want = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881  a\n"
    assert release.sums(tmp_path) == want
