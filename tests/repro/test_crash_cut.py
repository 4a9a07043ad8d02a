# SPDX-License-Identifier: GPL-2.0-only
"""This test will cut a machine by its host where there is a port for it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from labrun.crash import cli
from machine import qemu


class NoPowerError(Exception):
    """The machine has no power any more."""


@pytest.mark.parametrize("ports", [("log", qemu.CUT, "stdout"), ("log",), ()])
def test_the_host_cuts_where_it_can_else_the_machine_resets(
    ports: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def waits(_: float) -> None:
        raise NoPowerError

    reset = tmp_path / "reset"
    monkeypatch.setattr(cli, "PORTS", tmp_path / "ports")
    monkeypatch.setattr(cli, "DEVICES", tmp_path)
    monkeypatch.setattr(cli, "RESET", reset)
    monkeypatch.setattr(time, "sleep", waits)
    for number, name in enumerate(ports):
        folder = tmp_path / f"of-{number}"
        folder.mkdir()
        (folder / "name").write_text(f"{name}\n")
        (tmp_path / "ports").mkdir(exist_ok=True)
        (tmp_path / f"ports/vport1p{number}").symlink_to(folder)
    if qemu.CUT in ports:
        with pytest.raises(NoPowerError):
            cli._cut()
        assert (tmp_path / "vport1p1").read_text() == "cut"
        assert not reset.exists()
    else:
        cli._cut()
        assert reset.read_text() == "b"
