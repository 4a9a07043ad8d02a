# SPDX-License-Identifier: GPL-2.0-only
"""test_jars: check that jars are those of their list, and that a refusal says why."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

from machine import jars
from support import PROJECT
from writestall_base.errors import UserError

GOOD, BAD = b"the jar", b"another jar"
SHA256 = hashlib.sha256(GOOD).hexdigest()
LIST = f"# a comment\n\n{SHA256}  org.example:one:1.0\n{SHA256}  org.example:two:2.1\n"
FILES = ["one-1.0.jar", "two-2.1.jar"]


@pytest.fixture
def listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A list of two jars, an empty cache and a PATH with no Maven."""
    monkeypatch.setenv("WRITESTALL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()
    path = tmp_path / "app.jars"
    path.write_text(LIST)
    return path


def maven(listed: Path, script: str) -> None:
    """Put a Maven there that does this; $folder is where it is to copy to."""
    program = listed.parent / "bin/mvn"
    found = (
        "for word; do case $word in -DoutputDirectory=*) folder=${word#*=};; esac; done"
    )
    program.write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{found}\n{script}\n")
    program.chmod(0o755)


def brings(*contents: bytes) -> str:
    pairs = zip(FILES, contents, strict=False)
    return "\n".join(
        f'printf "{data.decode()}" >"$folder/{name}"' for name, data in pairs
    )


def test_jars_are_fetched_once_and_verified(listed: Path) -> None:
    maven(listed, brings(GOOD, GOOD))
    folder = jars.folder(listed)
    assert folder is not None
    assert sorted(path.name for path in folder.iterdir()) == FILES
    (listed.parent / "bin/mvn").unlink()
    assert jars.folder(listed) == folder


@pytest.mark.parametrize(
    ("script", "said"),
    [
        (
            brings(GOOD, BAD),
            "two-2.1.jar: its sha256 is .* wants .* remove org.example:two",
        ),
        (brings(GOOD), "Maven brought no two-2.1.jar for org.example:two:2.1"),
        (
            "echo '[ERROR] no such mirror'; echo '[ERROR] more'; exit 1",
            "cannot fetch the jars of .*app.jars: no such mirror; check the mirror",
        ),
        ("exit 1", "cannot fetch the jars of .*: it printed nothing; check the mirror"),
    ],
)
def test_what_cannot_be_had_is_named_and_nothing_is_kept(
    script: str, said: str, listed: Path
) -> None:
    maven(listed, script)
    with pytest.raises(UserError, match=said):
        jars.folder(listed)
    maven(listed, brings(GOOD, GOOD))
    assert jars.folder(listed)


def test_without_maven_the_package_is_named(listed: Path) -> None:
    with pytest.raises(UserError, match="install maven"):
        jars.folder(listed)


@pytest.mark.parametrize("line", ["org.example:one:1.0", f"{SHA256}  one", "0  a:b:c"])
def test_a_line_that_is_none_is_named(line: str, listed: Path) -> None:
    listed.write_text(f"# a comment\n{line}\n")
    with pytest.raises(UserError, match=re.escape(f"{listed}:2: want SHA256")):
        jars.folder(listed)


def test_an_empty_list_is_refused(listed: Path) -> None:
    listed.write_text("# nothing\n")
    with pytest.raises(UserError, match="lists no jar"):
        jars.folder(listed)


def test_no_list_means_no_jars() -> None:
    assert jars.folder(None) is None


@pytest.mark.parametrize("path", sorted((PROJECT / "repro/apps").glob("*.jars")))
def test_the_lists_of_the_tree_can_be_read(path: Path) -> None:
    assert len({jar.file for jar in jars.listed(path)}) == len(jars.listed(path))
