# SPDX-License-Identifier: GPL-2.0-only
"""This test will build a source tree of a kernel with a compiler that does nothing, and
check which compiler that is, what it is told, and what is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from machine import image
from machine.own import building, find, kconfig
from writestall_base.errors import UserError

RELEASE = "4.19.108"


@pytest.mark.parametrize(
    ("release", "suite"),
    [
        ("4.4.155", "bullseye"),
        ("5.10.262", "bullseye"),
        ("5.15.1", "bookworm"),
        ("6.9.0", "trixie"),
        ("6.12.1", "trixie"),
        ("99.0.0", "forky"),
    ],
)
def test_the_compiler_is_of_the_time_of_the_kernel(release: str, suite: str) -> None:
    assert building.suite(release) == suite


class Built:
    """A source tree, and the commands that were to build it."""

    def __init__(self, tree: Path) -> None:
        self.tree = tree
        self.commands: list[list[str]] = []
        self.lacking = ""  # an option that this kernel does not know
        version, patch, sub = RELEASE.split(".")
        (tree / "Makefile").write_text(
            f"VERSION = {version}\nPATCHLEVEL = {patch}\nSUBLEVEL = {sub}\n"
        )

    def run(self, command: list[str]) -> None:
        """Do what a compiler would."""
        self.commands.append(command[command.index("--") + 1 :])
        if "allnoconfig" in command:
            self.configure()
        else:
            (self.tree / find.BZIMAGE).parent.mkdir(parents=True)
            (self.tree / "include/config").mkdir(parents=True)
            for name in find.MADE:
                (self.tree / name).write_text("")
            shutil.copy(self.tree / ".config", self.tree / find.AUTO)
            (self.tree / find.RELEASE).write_text(RELEASE)

    def configure(self) -> None:
        """Write a configuration of what a machine needs."""
        names = sorted({*kconfig.needed()} - {self.lacking})
        text = "".join(f"CONFIG_{name}=y\n" for name in names)
        (self.tree / ".config").write_text(text)


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Built:
    found = Built(tmp_path)
    monkeypatch.setattr(building, "root", lambda *words: Path("/", *words))
    monkeypatch.setattr(image, "logged", found.run)
    find.find.cache_clear()
    return found


def test_a_tree_without_a_configuration_gets_that_of_the_machine(built: Built) -> None:
    assert building.given(built.tree).release == RELEASE
    configured, made = built.commands
    fragment = f"{building.VM_INSIDE}/{kconfig.FRAGMENT.name}"
    assert configured[-2:] == [f"KCONFIG_ALLCONFIG={fragment}", "allnoconfig"]
    assert made[:3] == ["make", "--directory", str(built.tree)]
    assert made[-2:] == ["bzImage", "modules"]


def test_a_configuration_of_the_tree_is_kept(built: Built) -> None:
    built.configure()
    building.given(built.tree)
    assert [command[-1] for command in built.commands] == ["modules"]


def test_what_a_kernel_lacks_is_said_before_it_is_compiled(built: Built) -> None:
    built.lacking = "9P_FS"
    with pytest.raises(UserError, match="lacks CONFIG_9P_FS "):
        building.given(built.tree)
    assert [command[-1] for command in built.commands] == ["allnoconfig"]


def test_what_is_no_source_is_refused(built: Built) -> None:
    (built.tree / "Makefile").unlink()
    with pytest.raises(UserError, match="no kernel tree"):
        building.given(built.tree)
    assert not built.commands
