# SPDX-License-Identifier: GPL-2.0-only
"""jars: fetch the Maven artefacts of a list, verify them, and keep them in the cache.

A line of the list is `SHA256  GROUP:ARTIFACT:VERSION`. Maven itself fetches, with the
repositories, mirrors and proxies of this host's settings; the machine sees the folder
at JARS and needs no network.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from machine import cache
from machine.commands import said
from writestall_base.errors import UserError

LINE = re.compile(r"(?P<sha256>[0-9a-f]{64})  (?P<name>[\w.-]+:[\w.-]+:[\w.-]+)")
# Maven's schema; the project is never built, so its own name does not matter.
SCHEMA = "http://maven.apache.org/POM/4.0.0"
OWN = {"modelVersion": "4.0.0"} | dict.fromkeys(("groupId", "artifactId"), "list")
COORDINATES = ("groupId", "artifactId", "version")
COMMAND = ("mvn", "--batch-mode", "--quiet", "dependency:copy-dependencies")


@dataclass(frozen=True)
class Jar:
    sha256: str
    name: str  # GROUP:ARTIFACT:VERSION

    @property
    def file(self) -> str:
        """Its name in the folder."""
        _, artifact, version = self.name.split(":")
        return f"{artifact}-{version}.jar"


def listed(path: Path) -> tuple[Jar, ...]:
    """The artefacts of a list; comments and empty lines are left out."""
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        if not (match := LINE.fullmatch(line)):
            why = f"{path}:{number}: want SHA256, two spaces, GROUP:ARTIFACT:VERSION"
            raise UserError(why)
        found.append(Jar(match["sha256"], match["name"]))
    if not found:
        raise UserError(f"{path} lists no jar")
    return tuple(found)


def option(text: str) -> Path:
    path = Path(text).absolute()
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{path} is not a list of jars")
    return path


def folder(path: Path | None) -> Path | None:
    """The folder with the verified jars of a list; None without a list."""
    if path is None:
        return None
    jars = listed(path)

    def build(part: Path) -> None:
        part.mkdir()
        _fetch(path, jars, part)
        for jar in jars:
            _verify(path, jar, part / jar.file)

    key = cache.digest(*(f"{jar.sha256} {jar.file}" for jar in jars))
    return cache.build("jars", key, build)


def _fetch(path: Path, jars: tuple[Jar, ...], target: Path) -> None:
    """Have Maven copy the artefacts, and no other, to a folder."""
    if shutil.which("mvn") is None:
        raise UserError(f"mvn fetches the jars of {path}: install maven")
    with tempfile.TemporaryDirectory(prefix="writestall-") as place:
        project = Path(place, "pom.xml")
        project.write_bytes(ElementTree.tostring(_project(jars)))
        options = [f"--file={project}", f"-DoutputDirectory={target}"]
        command = [*COMMAND, *options, "-DexcludeTransitive=true"]
        done = said(command)
    if done.returncode:
        lines = (done.stdout + done.stderr).splitlines() or ["it printed nothing"]
        errors = [line for line in lines if "ERROR" in line]
        first = re.sub(r"\S*\[[^]]*ERROR[^]]*\] *", "", (errors or lines)[0])
        remedy = "check the mirror in Maven's settings.xml"
        raise UserError(f"cannot fetch the jars of {path}: {first}; {remedy}")


def _project(jars: tuple[Jar, ...]) -> ElementTree.Element:
    """A project that depends on the artefacts, and on nothing that they name."""
    project = ElementTree.Element("project", xmlns=SCHEMA)
    for key, value in (OWN | {"version": "1"}).items():
        ElementTree.SubElement(project, key).text = value
    dependencies = ElementTree.SubElement(project, "dependencies")
    for jar in jars:
        one = ElementTree.SubElement(dependencies, "dependency")
        for key, value in zip(COORDINATES, jar.name.split(":"), strict=True):
            ElementTree.SubElement(one, key).text = value
        none = ElementTree.SubElement(
            ElementTree.SubElement(one, "exclusions"), "exclusion"
        )
        for key in COORDINATES[:2]:
            ElementTree.SubElement(none, key).text = "*"
    return project


def _verify(path: Path, jar: Jar, file: Path) -> None:
    """Refuse a file that is not what the list says."""
    if not file.is_file():
        raise UserError(f"{path}: Maven brought no {file.name} for {jar.name}")
    found = hashlib.sha256(file.read_bytes()).hexdigest()
    if found != jar.sha256:
        raise UserError(
            f"{file.name}: its sha256 is {found}, {path} wants {jar.sha256}: check the"
            f" mirror in Maven's settings.xml, and remove {jar.name} from Maven's own"
            " repository"
        )
