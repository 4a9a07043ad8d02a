# SPDX-License-Identifier: GPL-2.0-only
"""bill: list what the Debian packages and the image consist of, as SPDX documents."""

from __future__ import annotations

import json
import subprocess
import tarfile
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from driver.commands import setup
from driver.packaging import sources, wheels
from machine.commands import output
from writestall_base.errors import UserError

STATUS = "var/lib/dpkg/status"
LIBRARIES = "writestall-libraries"  # the package that has the wheels
Document = dict[str, Any]


def packages(debs: Iterable[Path], version: str) -> Document:
    """The document of Debian packages, with the wheels that one of them has."""
    stanzas = [output(["dpkg-deb", "--field", str(deb)]) for deb in debs]
    installed = [b"Status: install ok installed\n" + stanza for stanza in stanzas]
    return _with_wheels(_document("packages", b"\n".join(installed), version))


def image(archive: Path, version: str) -> Document:
    """The document of the packages in an OCI image, with the same wheels."""
    return _with_wheels(_document("image", _status(archive), version))


def write(path: Path, document: Document) -> None:
    """Write the document, unless the reader of the SPDX project finds fault."""
    path.write_text(json.dumps(document, indent=1) + "\n")
    reader = "spdx_tools.spdx.clitools.pyspdxtools"
    command = [str(setup.python(("release",))), "-m", reader, "--infile", str(path)]
    if subprocess.run(command, stdout=2, check=False).returncode:
        raise UserError(f"{path.name}: not valid as SPDX, see above")


def _document(name: str, status: bytes, version: str) -> Document:
    """What debsbom says of a tree with this list of packages of dpkg."""
    with tempfile.TemporaryDirectory(prefix="writestall-") as place:
        listed = Path(place, STATUS)
        listed.parent.mkdir(parents=True)
        listed.write_bytes(status)
        command = [str(setup.python(("release",))), "-m", "debsbom.cli", "generate"]
        command += ["--sbom-type", "spdx", "--root", place, "--out", "-"]
        command += ["--distro-name", f"writestall-{name}", "--distro-version", version]
        command += ["--distro-arch", "amd64", "--timestamp", sources.timestamp()]
        unique = f"https://spdx.org/spdxdocs/writestall-{name}-{version}"
        found: Document = json.loads(output([*command, "--spdx-namespace", unique]))
    return found


def _status(archive: Path) -> bytes:
    """dpkg's list of packages in an image: that of the last layer with one."""

    def blob(digest: str) -> IO[bytes]:
        return _file(layout, "blobs/" + digest.replace(":", "/"))

    with tarfile.open(archive) as layout:
        (entry,) = json.load(_file(layout, "index.json"))["manifests"]
        layers = json.load(blob(entry["digest"]))["layers"]
        for layer in reversed(layers):
            with tarfile.open(fileobj=blob(layer["digest"])) as files:
                if {STATUS, f"./{STATUS}"} & set(files.getnames()):
                    return _file(files, STATUS).read()
    raise UserError(f"{archive}: no layer has {STATUS}")


def _file(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    """A regular file of an archive, whose names may begin with ./"""
    names = set(archive.getnames())
    found = archive.extractfile(name if name in names else f"./{name}")
    assert found, name
    return found


def _with_wheels(document: Document) -> Document:
    """Add the wheels of packaging/libraries.toml to the package that has them."""
    (holder,) = (
        one["SPDXID"]
        for one in document["packages"]
        if one["name"] == LIBRARIES and "srcpkg" not in one["SPDXID"]
    )
    for wheel in tomllib.loads(wheels.TABLE.read_text())["wheel"]:
        name, _, version = wheel["requirement"].partition("==")
        one = f"SPDXRef-wheel-{name}-{version}-python{wheel['python']}"
        locator = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl"}
        document["packages"].append(
            {
                "SPDXID": one,
                "name": name,
                "versionInfo": version,
                "downloadLocation": "NOASSERTION",
                "filesAnalyzed": False,
                "comment": f"the wheel for Python {wheel['python']}",
                "checksums": [
                    {"algorithm": "SHA256", "checksumValue": wheel["sha256"]}
                ],
                "externalRefs": [
                    locator | {"referenceLocator": f"pkg:pypi/{name}@{version}"}
                ],
            }
        )
        document["relationships"].append(
            {
                "spdxElementId": holder,
                "relatedSpdxElement": one,
                "relationshipType": "CONTAINS",
            }
        )
    return document
