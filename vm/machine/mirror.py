# SPDX-License-Identifier: GPL-2.0-only
"""mirror: read this host's APT configuration for mmdebstrap."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from machine.commands import said
from writestall_base.errors import UserError

APT = Path("/etc/apt")
KEYRINGS = ("debian-archive-keyring.pgp", "debian-archive-keyring.gpg")
# Updates and security are archives of their own, without a base suite.
NOT_A_BASE_SUITE = re.compile(r"-(security|updates|backports|debug)|/")


def _one_line(text: str) -> Iterator[tuple[str, str, str]]:
    """(uri, suite, components) of each `deb` line of a .list file."""
    entry = re.compile(r"^\s*deb\s+(?:\[[^]]*\]\s+)?(\S+)\s+(\S+)\s+(.*)$", re.M)
    yield from entry.findall(text)


def _deb822(text: str) -> Iterator[tuple[str, str, str]]:
    """(uri, suite, components) of each enabled stanza of a .sources file."""
    for stanza in re.split(r"\n\s*\n", text):
        lines = [line for line in stanza.splitlines() if not line.startswith("#")]
        fields = dict(re.findall(r"^([\w-]+):\s*(.*)$", "\n".join(lines), re.M))
        if fields.get("Enabled", "yes") == "no" or "deb" not in fields.get("Types", ""):
            continue
        for uri in fields.get("URIs", "").split():
            for suite in fields.get("Suites", "").split():
                yield uri, suite, fields.get("Components", "")


def _entries(apt: Path) -> Iterator[tuple[str, str, str]]:
    """Every (uri, suite, components) that APT on this machine knows."""
    readers = {".list": _one_line, ".sources": _deb822}
    parts = apt / "sources.list.d"
    files = [apt / "sources.list", *sorted(parts.glob("*") if parts.is_dir() else [])]
    for file in files:
        if file.suffix in readers and file.is_file():
            yield from readers[file.suffix](file.read_text())


def mirror(apt: Path = APT) -> str:
    """The archive to install from: $WRITESTALL_MIRROR, else APT's own."""
    if chosen := os.environ.get("WRITESTALL_MIRROR"):
        return chosen
    for uri, suite, components in _entries(apt):
        base = "main" in components.split() and not NOT_A_BASE_SUITE.search(suite)
        if base and "debian" in uri and "security" not in uri:
            return uri.rstrip("/")
    raise UserError(
        "this machine's APT sources name no Debian mirror: set WRITESTALL_MIRROR"
    )


def keyring() -> Path:
    """The Debian archive's public keys."""
    for name in KEYRINGS:
        if (path := Path("/usr/share/keyrings") / name).exists():
            return path
    raise UserError("no Debian archive keys: install debian-archive-keyring")


def apt_options() -> list[str]:
    """This machine's own Acquire settings (proxy, validity), for mmdebstrap."""
    dump = said(["apt-config", "dump", "--format", '%F "%v";%n', "Acquire"])
    wanted = re.compile(r"^Acquire::(https?::Proxy|Check-Valid-Until|Check-Date)\b")
    return [line for line in dump.stdout.splitlines() if wanted.match(line)]
