# SPDX-License-Identifier: GPL-2.0-only
"""This test will build the box and log in to it as Vagrant does, in the lab's QEMU."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from driver.packaging import box, sources, trees
from machine import accel, image, qemu, recipe
from machine.commands import started
from support import PROJECT

BOOT_S = 400.0
POLL_S = 3.0


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the catalogue, and in inside/ the box's files."""
    folder = tmp_path_factory.mktemp("box")
    img = folder / "built.img"
    box.disk(img)
    made = box.pack(img, folder, sources.version())
    img.unlink()
    with tarfile.open(made) as tar:
        tar.extractall(folder / "inside")
    return folder


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def booted(img: Path, console: Path, port: int) -> Iterator[None]:
    """A machine of that disk; what it writes there is gone with it."""
    known = recipe.load()
    choice = accel.choose(known, image.kernel(known), None)
    forward = f"user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:{port}-:22"
    command = [
        *qemu.binary(known),
        *("-nodefaults", "-no-reboot", "-display", "none", "-M", "q35"),
        *qemu.ACCEL[choice.name],
        *("-smp", "2", "-m", "2G", "-serial", f"file:{console}"),
        *("-drive", f"file={img},if=virtio,format=qcow2,snapshot=on"),
        *("-netdev", forward, "-device", "virtio-net-pci,netdev=net,romfile="),
    ]
    with started(command, end=signal.SIGKILL) as machine:
        yield
        machine.kill()


class Guest:
    """A login as the user vagrant with Vagrant's own key."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port
        shutil.copy(box.key("vagrant"), folder / "key")
        (folder / "key").chmod(0o600)

    def ssh(self, command: str, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
        """The command's status and output, in the tree that has ssh."""
        (self.folder / "stdin").write_bytes(stdin)
        options = "-o BatchMode=yes -o StrictHostKeyChecking=no -o ConnectTimeout=10"
        options += " -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
        line = f"ssh {options} -i {trees.HOST}/key -p {self.port} vagrant@127.0.0.1"
        line += f" '{command}' <{trees.HOST}/stdin"
        enter = [*image.as_owner(), str(PROJECT / "vm/enter.sh")]
        enter += [str(trees.workshop()), f"{self.folder}:{trees.HOST}", "--"]
        return subprocess.run(
            [*enter, "bash", "-c", line], capture_output=True, text=True, check=False
        )

    def wait(self, console: Path) -> None:
        """Return when it answers."""
        deadline_s = time.monotonic() + BOOT_S
        while self.ssh("true").returncode:
            text = console.read_text(errors="replace")[-1500:]
            assert time.monotonic() < deadline_s, f"no login: {text}"
            time.sleep(POLL_S)


def _tree() -> bytes:
    """The checkout, as Vagrant's rsync copies it."""
    folders = ("base", "repro", "vm", "kmod")
    command = ["git", "archive", "--format=tar", "HEAD", *folders]
    return subprocess.run(command, cwd=PROJECT, stdout=-1, check=True).stdout


def test_the_catalogue_leads_to_the_box(built: Path) -> None:
    catalogue = json.loads((built / "metadata.json").read_text())
    (version,) = catalogue["versions"]
    assert version["version"] == sources.version()
    (provider,) = version["providers"]
    assert Path(provider["url"].removeprefix("file://")).is_relative_to(built)
    inside = json.loads((built / "inside/metadata.json").read_text())
    assert inside["provider"] == provider["name"] == "libvirt"
    assert {path.name for path in (built / "inside").iterdir()} == {
        *("metadata.json", "Vagrantfile", "box.img")
    }


def test_vagrant_could_log_in_and_run_the_lab(built: Path, tmp_path: Path) -> None:
    port, console = _free_port(), tmp_path / "console.log"
    console.touch()
    guest = Guest(tmp_path, port)
    with booted(built / "inside/box.img", console, port):
        guest.wait(console)
        copied = guest.ssh("sudo tar -x --one-top-level=/writestall", _tree())
        assert copied.returncode == 0, copied.stderr
        # restrict=on: nothing could be installed.
        text = guest.ssh("sudo /writestall/vm/provision")
        assert text.stdout == "provision: nothing to install\n", text
        listed = guest.ssh("sudo /writestall/repro/run --list && uname -r")
        assert listed.returncode == 0, listed
        assert "journal-buffer" in listed.stdout
