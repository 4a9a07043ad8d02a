# SPDX-License-Identifier: GPL-2.0-only
"""This test will run setup on hosts that lack something, and read its messages."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from driver import needs
from driver.commands import doctor as doctor_module
from driver.commands import setup
from machine import cache, recipe
from machine.errors import UserError
from support import PROJECT

NEED = needs.NEEDS[0]


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that lacks one thing, with an apt that only records."""
    monkeypatch.setattr(needs, "missing", lambda groups: [NEED])


@pytest.mark.usefixtures("lacking")
def test_another_distribution_is_told_the_packages_and_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(setup, "_is_debian", lambda: False)
    with pytest.raises(UserError) as refusal:
        setup.packages(("lab",))
    for manager in ("apt", "dnf", "pacman"):
        assert f"{manager}: {NEED.package(0)}" in str(refusal.value)


@pytest.mark.usefixtures("lacking")
def test_without_sudo_it_names_the_packages_and_stops(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(setup, "_is_debian", lambda: True)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UserError, match="no sudo and you are not root"):
        setup.packages(("lab",))


def test_it_says_what_it_installs_before_it_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said_before_install: list[str] = []
    installed: list[str] = []

    def apt(command: list[str], lacking: list[needs.Need]) -> None:
        if "install" in command:
            said_before_install.append(capsys.readouterr().err)
            installed.extend(command[command.index("install") + 1 :])

    monkeypatch.setattr(needs, "missing", lambda groups: [] if installed else [NEED])
    monkeypatch.setattr(setup, "_is_debian", lambda: True)
    monkeypatch.setattr(setup, "_run_apt", apt)
    setup.packages(("lab",))
    assert NEED.package(0) in installed
    assert f"{NEED.package(0)}: {NEED.name} {NEED.why}" in said_before_install[0]


def test_every_need_has_a_package_for_every_manager() -> None:
    for need in needs.NEEDS:
        for i in range(len(setup.MANAGERS)):
            assert need.package(i)


def doctor(**variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(PROJECT / "writestall"), "doctor"],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def test_doctor_lists_yes_and_no_with_reasons_and_remedies(tmp_path: Path) -> None:
    done = doctor(WRITESTALL_CACHE=str(tmp_path / "cache"))
    rows, _, verdict = done.stdout.partition("\n\n")
    for row in rows.splitlines():
        found = re.fullmatch(r"(yes|no) +(\S.*)", row)
        assert found, row
        assert found[1] == "yes" or " -> " in row, f"no remedy: {row}"
    for name in ("kernel 6.12", "kernel 7.2", "KVM", "memory", "disk space", "python"):
        assert re.search(rf"^(yes|no) +{name} ", rows, re.MULTILINE), name
    assert verdict


def test_doctor_changes_nothing(tmp_path: Path) -> None:
    place = tmp_path / "cache"
    doctor(WRITESTALL_CACHE=str(place))
    assert not place.exists()


def test_doctor_finds_the_obstacle(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(needs, "missing", lambda groups: [NEED])
    assert doctor_module.main(argparse.Namespace()) == 1
    printed = capsys.readouterr().out
    assert f"In the way of make lab: {NEED.name}" in printed
    assert f"no  {NEED.name}" in printed


def test_an_engine_the_kernel_cannot_have_is_refused_with_one_it_can() -> None:
    """kernels.toml names a kernel that an engine does not support."""
    kernels = recipe.load(full=True).kernels
    without = [name for name in kernels if not recipe.load(name).bpftrace]
    assert without, "bpftrace serves every kernel: this test holds nothing"
    for name in without:
        done = subprocess.run(
            [PROJECT / "writestall", "lab", "--kernel", name, "--engine", "both"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert re.fullmatch(
            f".*kernel {name}: use --engine stap or core\n", done.stderr
        )


def test_a_venv_finds_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that was started again in the venv must not create another one."""
    keys: list[str] = []

    def build(name: str, key: str, fill: object) -> Path:
        keys.append(key)
        return Path("/venv")

    monkeypatch.setattr(cache, "build", build)
    for prefix in (sys.base_prefix, "/venv"):
        monkeypatch.setattr(sys, "prefix", prefix)
        setup.python(("export",))
    assert keys[0] == keys[1]
