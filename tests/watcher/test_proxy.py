# SPDX-License-Identifier: GPL-2.0-only
"""This test will read the metrics through the proxy of docs/watch.md, and be refused.

nginx is not installed, which would start a server: its package is unpacked.
"""

from __future__ import annotations

import base64
import http.client
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Gauge

from machine import cache
from support import PROJECT
from watcher import scrapes

LIMIT_S = 20
# An installed nginx has a folder for each in /var/lib/nginx.
KEPT = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
USER, PASSWORD = "prometheus", "a password"
CONFIGURATION = re.compile(r"```nginx\n(.*?)```", re.DOTALL)


def _output(*command: str | Path) -> str:
    words = [str(word) for word in command]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _unpack(place: Path) -> None:
    """nginx alone: what it links to is in each Debian (openssl, PCRE, zlib)."""
    place.mkdir()
    command = ["apt-get", "download", "nginx"]
    subprocess.run(command, cwd=place, capture_output=True, check=True)
    (package,) = place.glob("*.deb")
    _output("dpkg-deb", "--extract", package, place)


@pytest.fixture(scope="module")
def nginx() -> Path:
    """The program, of this host or unpacked."""
    if found := shutil.which("nginx"):
        return Path(found)
    try:
        release = Path("/etc/os-release")
        tree = cache.build("nginx", cache.digest(release), _unpack)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no nginx, and APT has none: {error}")
    return tree / "usr/sbin/nginx"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _made(folder: Path, port: int, behind: int) -> Path:
    """The proxy's configuration with places of this test, and what it names."""
    openssl = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    openssl += ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    key, certificate = folder / "metrics.key", folder / "metrics.crt"
    _output(*openssl, "-keyout", key, "-out", certificate)
    hashed = _output("openssl", "passwd", "-6", PASSWORD)
    (folder / "metrics.users").write_text(f"{USER}:{hashed}\n")
    found = CONFIGURATION.search((PROJECT / "docs/watch.md").read_text())
    assert found
    text = found[1]
    kept = "".join(f" {name}_temp_path {folder / name};" for name in KEPT)
    for shown, here in (
        ("/run/writestall-proxy.pid", str(folder / "pid")),
        ("/etc/writestall", str(folder)),
        ("http {", f"http {{{kept}"),
        ("listen 9710 ", f"listen 127.0.0.1:{port} "),
        ("127.0.0.1:9709", f"127.0.0.1:{behind}"),
    ):
        assert shown in text, shown
        text = text.replace(shown, here)
    place = folder / "nginx.conf"
    place.write_text(text)
    return place


@pytest.fixture
def proxy(nginx: Path, tmp_path: Path) -> Iterator[int]:
    """The port of a proxy before metrics."""
    registry = CollectorRegistry()
    Gauge("ready", "Always 1.", registry=registry).set(1)
    port = _free_port()
    place = _made(tmp_path, port, scrapes.serve(registry, ("127.0.0.1", 0)))
    command = [str(nginx), "-c", str(place), "-p", str(tmp_path), "-g"]
    log = tmp_path / "log"
    with (
        log.open("w") as stderr,
        # A worker that is nobody could not read this test's folder.
        subprocess.Popen(
            [*command, "daemon off; user root;"], stderr=stderr
        ) as process,
    ):
        try:
            deadline_s = time.monotonic() + LIMIT_S
            while not (tmp_path / "pid").exists():
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline_s
                time.sleep(0.05)
            yield port
        finally:
            process.terminate()


def _asked(
    proxy: int, folder: Path, path: str, password: str | None
) -> tuple[int, bytes]:
    trusted = ssl.create_default_context(cafile=str(folder / "metrics.crt"))
    client = http.client.HTTPSConnection(
        "localhost", proxy, timeout=LIMIT_S, context=trusted
    )
    told = base64.b64encode(f"{USER}:{password}".encode()).decode()
    headers = {"Authorization": f"Basic {told}"} if password else {}
    client.request("GET", path, headers=headers)
    answer = client.getresponse()
    return answer.status, answer.read()


@pytest.mark.parametrize(
    ("path", "password", "status"),
    [
        ("/metrics", PASSWORD, 200),
        ("/metrics", "another", 401),
        ("/metrics", None, 401),
        ("/other", PASSWORD, 404),
    ],
)
def test_who_has_the_password_reads_the_metrics(
    proxy: int, tmp_path: Path, path: str, password: str | None, status: int
) -> None:
    found, text = _asked(proxy, tmp_path, path, password)
    assert found == status
    assert (b"ready 1.0" in text) == (status == 200)


def test_without_encryption_nobody_reads_them(proxy: int) -> None:
    client = http.client.HTTPConnection("127.0.0.1", proxy, timeout=LIMIT_S)
    client.request("GET", "/metrics")
    answer = client.getresponse()
    assert (answer.status, b"ready" in answer.read()) == (400, False)
