# SPDX-License-Identifier: GPL-2.0-only
"""This test will sign checksums with a throw-away key, and list what a package and an
image consist of.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import tarfile
from pathlib import Path

import pytest

from driver import unpacked
from driver.packaging import bill, release
from writestall.cli.commands import COMMANDS
from writestall.cli.parser import command_parser
from writestall_base.errors import UserError

VERSION = "0.0.1"
CONTROL = """Package: writestall-libraries
Version: 0.0.1
Architecture: amd64
Maintainer: Nobody <nobody@example.org>
Description: made for a test
"""


def _minisign(folder: Path, *words: object) -> int:
    command = unpacked.command(["minisign", *map(str, words)], [folder])
    return subprocess.run(command, capture_output=True, check=False).returncode


@pytest.fixture
def signed(tmp_path: Path) -> Path:
    """Two files, their checksums, signed; the key is in keys/."""
    keys, out = tmp_path / "keys", tmp_path / "out"
    keys.mkdir()
    out.mkdir()
    for name in ("a.deb", "b.tar"):
        (out / name).write_text(name)
    (out / release.SUMS).write_text(release.sums(out))
    public, secret = keys / "public", keys / "secret"
    assert not _minisign(tmp_path, "-G", "-W", "-p", public, "-s", secret)
    release.sign(out, secret, VERSION)
    return tmp_path


def _is_good(place: Path) -> bool:
    """Whether the two commands of docs/install.md accept it."""
    sums = place / "out" / release.SUMS
    if _minisign(place, "-V", "-p", place / "keys/public", "-m", sums):
        return False
    check = ["sha256sum", "--check", "--ignore-missing", release.SUMS]
    done = subprocess.run(check, cwd=sums.parent, capture_output=True, check=False)
    return done.returncode == 0


def test_a_signed_release_is_accepted(signed: Path) -> None:
    assert _is_good(signed)
    text = (signed / "out/SHA256SUMS.minisig").read_text()
    assert f"trusted comment: writestall {VERSION}" in text


@pytest.mark.parametrize("name", ["a.deb", "SHA256SUMS", "SHA256SUMS.minisig"])
def test_a_changed_file_is_not(signed: Path, name: str) -> None:
    path = signed / "out" / name
    path.write_bytes(path.read_bytes()[:-2] + b"xx")
    assert not _is_good(signed)


def test_a_changed_file_with_its_checksum_is_not(signed: Path) -> None:
    out = signed / "out"
    (out / "a.deb").write_text("changed")
    (out / "SHA256SUMS.minisig").rename(signed / "signature")
    (out / release.SUMS).write_text(release.sums(out))
    (signed / "signature").rename(out / "SHA256SUMS.minisig")
    assert not _is_good(signed)


@pytest.mark.parametrize("name", ["public", "missing"])
def test_no_other_file_is_taken_for_the_key(signed: Path, name: str) -> None:
    """Before anything is built."""
    parser = command_parser(COMMANDS["release"])
    with pytest.raises(UserError, match="not a secret key of minisign"):
        parser.parse_args(["--key", str(signed / "keys" / name)])


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def _layout(place: Path) -> Path:
    """An OCI archive whose only layer has dpkg's list of one package."""
    layer = place / "layer.tar.gz"
    with tarfile.open(layer, "w:gz") as tar:
        status = f"Status: install ok installed\n{CONTROL}"
        _add(tar, f"./{bill.STATUS}", status.encode())
    with tarfile.open(place / "image.tar", "w") as tar:

        def blob(data: bytes) -> dict[str, str]:
            digest = hashlib.sha256(data).hexdigest()
            _add(tar, f"./blobs/sha256/{digest}", data)
            return {"digest": f"sha256:{digest}"}

        manifest = json.dumps({"layers": [blob(layer.read_bytes())]}).encode()
        _add(tar, "./index.json", json.dumps({"manifests": [blob(manifest)]}).encode())
    return place / "image.tar"


def _deb(place: Path) -> Path:
    (place / "tree/DEBIAN").mkdir(parents=True)
    (place / "tree/DEBIAN/control").write_text(CONTROL)
    made = place / "one.deb"
    words = ["dpkg-deb", "--root-owner-group", "--build"]
    command = [*words, str(place / "tree"), str(made)]
    subprocess.run(command, capture_output=True, check=True)
    return made


@pytest.mark.parametrize("of", ["packages", "image"])
def test_the_parts_are_listed_as_spdx(tmp_path: Path, of: str) -> None:
    """The package, and the wheels that it has; the reader of SPDX accepts it."""
    if of == "image":
        document = bill.image(_layout(tmp_path), VERSION)
    else:
        document = bill.packages([_deb(tmp_path)], VERSION)
    bill.write(tmp_path / "list.spdx.json", document)
    found = json.loads((tmp_path / "list.spdx.json").read_text())
    names = {one["SPDXID"]: one["name"] for one in found["packages"]}
    assert {"writestall-libraries", "hdrhistogram", "msgspec"} <= set(names.values())
    contained = {
        names[one["relatedSpdxElement"]]
        for one in found["relationships"]
        if one["relationshipType"] == "CONTAINS"
        and names[one["spdxElementId"]] == "writestall-libraries"
    }
    assert contained == {"hdrhistogram", "msgspec"}
