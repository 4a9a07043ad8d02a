# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare the lists of lab/lock with pyproject.toml."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from driver.commands import setup
from machine import cache
from support import PROJECT
from writestall_base.errors import UserError

TABLE = tomllib.loads((PROJECT / "pyproject.toml").read_text())
NEEDED: list[str] = TABLE["project"]["dependencies"]
GROUPS: dict[str, list[str]] = {
    "build": TABLE["build-system"]["requires"],
    "lab": NEEDED,
} | {
    name: [*NEEDED, *some]
    for name, some in TABLE["project"]["optional-dependencies"].items()
}
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def _pins(name: str) -> list[tuple[Requirement, str]]:
    """What a list names, and the options of each."""
    text = (setup.LOCKS / f"{name}.txt").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    parts = [line.partition(" --hash=") for line in lines]
    return [(Requirement(pin), mark + rest) for pin, mark, rest in parts]


def test_there_is_a_list_for_each_extra_and_no_other() -> None:
    assert {path.stem for path in setup.LOCKS.iterdir()} == set(GROUPS)


@pytest.mark.parametrize("name", GROUPS)
def test_each_line_is_one_version_with_hashes(name: str) -> None:
    for pin, options in _pins(name):
        assert re.fullmatch(r"==[^,*]+", str(pin.specifier)), pin
        assert re.fullmatch(r"( +--hash=sha256:[0-9a-f]{64})+", f" {options.strip()}")


@pytest.mark.parametrize("python", PYTHONS)
@pytest.mark.parametrize("name", GROUPS)
def test_the_versions_are_those_that_pyproject_takes(name: str, python: str) -> None:
    """Otherwise: lab/lock."""
    there = {"python_version": python, "python_full_version": f"{python}.0"}
    there |= {"sys_platform": "linux", "platform_system": "Linux"}
    pinned = {
        canonicalize_name(pin.name): pin
        for pin, _ in _pins(name)
        if not pin.marker or pin.marker.evaluate(there)
    }
    for wanted in map(Requirement, GROUPS[name]):
        pin = pinned[canonicalize_name(wanted.name)]
        (version,) = pin.specifier
        assert wanted.specifier.contains(version.version), f"{wanted}: {pin}"


def test_one_package_has_one_version_in_all_lists() -> None:
    found: dict[str, set[str]] = {}
    for name in set(GROUPS) - {"build"}:
        for pin, _ in _pins(name):
            found.setdefault(f"{pin.name}; {pin.marker}", set()).add(str(pin.specifier))
    assert {name: pins for name, pins in found.items() if len(pins) > 1} == {}


def test_another_hash_is_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Packages whose files have changed since."""
    monkeypatch.setattr(setup, "LOCKS", tmp_path)
    monkeypatch.setattr(cache, "root", lambda: tmp_path / "cache")
    text = (PROJECT / "lab/requirements/lab.txt").read_text()
    changed = re.sub(r"sha256:[0-9a-f]{8}", "sha256:00000000", text)
    (tmp_path / "lab.txt").write_text(changed)
    with pytest.raises(UserError, match=r"could not install lab/requirements: lab.txt"):
        setup.python(())
    assert "DO NOT MATCH THE HASHES" in capfd.readouterr().err
