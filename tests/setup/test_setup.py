# SPDX-License-Identifier: GPL-2.0-only
"""This test will run setup on hosts that lack something, and read its messages."""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from driver import needs, settings
from driver.builds import core
from driver.commands import doctor as doctor_module
from driver.commands import setup
from machine import architectures, cache, recipe
from machine.architectures import AARCH64, X86_64
from support import PROJECT
from writestall.cli.commands import COMMANDS
from writestall.cli.parser import command_parser
from writestall_base.errors import UserError

NEED = needs.NEEDS[0]


@pytest.fixture
def lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that lacks one thing, with an apt that only records."""
    monkeypatch.setattr(needs, "missing", lambda groups: [NEED])


@pytest.mark.usefixtures("lacking")
def test_another_distribution_gets_the_packages_and_stops(
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


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A Debian that lacks one thing, and what it is asked to run, which works."""
    made: list[list[str]] = []
    monkeypatch.setattr(needs, "missing", lambda groups: [] if made else [NEED])
    monkeypatch.setattr(setup, "_is_debian", lambda: True)
    monkeypatch.setattr(setup, "_run_apt", lambda words, _: made.append(words))
    return made


def test_it_says_what_it_installs_before_it_runs_apt(
    calls: list[list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Before `apt-get update`, too, which changes the host's lists."""
    said: list[str] = []

    def apt(words: list[str], lacking: list[needs.Need]) -> None:
        said.append(capsys.readouterr().err)
        calls.append(words)

    monkeypatch.setattr(setup, "_run_apt", apt)
    setup.packages(("lab",))
    assert ["update" in words for words in calls] == [True, False]
    assert NEED.package(0) in calls[1]
    assert f"{NEED.package(0)}: {NEED.name} {NEED.why}" in said[0]


def test_no_install_names_what_is_missing_and_the_command(
    calls: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WRITESTALL_INSTALL", "no")
    with pytest.raises(UserError) as refusal:
        setup.packages(("lab",))
    said = str(refusal.value)
    assert not calls and "\n" not in said
    assert f"lacks {NEED.name} ({NEED.why}); run: sudo apt-get install" in said
    assert said.endswith(f" {NEED.package(0)}")


@pytest.mark.parametrize("said", ["", "yes"])
def test_installing_is_the_default(
    calls: list[list[str]], monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("WRITESTALL_INSTALL", said)
    setup.packages(("lab",))
    assert calls


def test_a_word_that_is_neither_is_refused(
    calls: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WRITESTALL_INSTALL", "No")
    with pytest.raises(UserError, match="WRITESTALL_INSTALL=No: want yes or no"):
        setup.packages(("lab",))
    assert not calls


@pytest.mark.parametrize("command", ["lab", "compare", "crash", "test", "setup"])
def test_every_command_that_installs_has_the_option(
    command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WRITESTALL_INSTALL", "yes")
    command_parser(COMMANDS[command]).parse_args(["--no-install"])
    assert os.environ["WRITESTALL_INSTALL"] == "no"


def test_the_readme_lists_what_is_installed() -> None:
    """In code marks, behind the name of the command; the first has what all need."""
    text = (PROJECT / "README.md").read_text()
    for group, start in (("lab", "`make lab` installs"), ("test", "`make test` also")):
        found = re.search(rf"{re.escape(start)} (.+?)\.\n", text, re.DOTALL)
        assert found, start
        listed = set(re.findall(r"`([a-z0-9.+-]+)`", found[1]))
        assert listed == {n.package(0) for n in needs.NEEDS if n.group == group}


def test_no_package_of_the_tests_brings_a_service() -> None:
    """Those of priority `required` are on every Debian."""
    if not shutil.which("dpkg-query"):
        pytest.skip("no dpkg here")
    for name in {need.package(0) for need in needs.NEEDS}:
        query = ["dpkg-query", "--showformat=${Priority}", "--show", name]
        asked = subprocess.run(query, capture_output=True, text=True, check=False)
        if asked.stdout in ("", "required"):
            continue
        listed = subprocess.run(
            ["dpkg-query", "--listfiles", name], capture_output=True, check=True
        )
        service = rb"/etc/init\.d/.|systemd/system/.+\.(service|timer|socket)\n"
        assert not re.search(service, listed.stdout), name


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
    assert f"Missing for make lab: {NEED.name}" in printed
    assert f"no  {NEED.name}" in printed


@pytest.mark.parametrize("engine", ["core", "both"])
def test_an_engine_the_kernel_cannot_have_is_refused_with_one_it_can(
    engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel of one's own may lack what an engine needs."""
    lacking = replace(recipe.load(), has_core=False)
    monkeypatch.setattr(recipe, "load", lambda kernel: lacking)
    with pytest.raises(UserError, match=r"on kernel /mine: use --engine stap$"):
        settings.engine(engine, "/mine")
    assert settings.engine("stap", "/mine") == "stap"


def test_the_engine_is_the_first_that_works_for_the_guests_processor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(core, "check", lambda _: None)
    monkeypatch.setenv(architectures.CHOICE, X86_64.name)
    assert settings.engine(None, "6.12") == "stap"
    monkeypatch.setenv(architectures.CHOICE, AARCH64.name)
    assert settings.engine(None, "6.12") == "core"
    with pytest.raises(UserError, match=r"stap does not work .* aarch64, only core$"):
        settings.engine("stap", "6.12")


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
