# SPDX-License-Identifier: GPL-2.0-only
"""This test will end a `record` without a tracer, and ask who owns what, and when."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from recorder import cli, engines, targets
from recorder.recording import Settings
from recorder.run_folder import RunFolder
from writestall.cli.main import main
from writestall_base.steps import Run

NOBODY = 65534


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: it gives a folder away")
@pytest.mark.parametrize("words", [[], ["--redact"]])
def test_root_writes_nothing_after_the_folder_is_given_away(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before, the folder was its new owner's while root wrote the answer there."""
    out = tmp_path / "run"
    owners: dict[str, Any] = {}
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    monkeypatch.setenv("SUDO_GID", str(NOBODY))
    monkeypatch.setattr(targets, "check", lambda args: None)
    monkeypatch.setattr(engines, "choose", lambda args: (engines.ENGINES[0], "core"))

    def recorded(run: Run, _: Settings) -> tuple[bool, None]:
        run.create()
        (run.folder / "events").mkdir()
        run.finish()
        return True, None

    def answered(folder: RunFolder, _: object, voice: object) -> bool:
        owners["when answered"] = out.stat().st_uid
        assert (out / "manifest.json").exists()
        (folder.pinned / "answer.txt").write_text("so\n")
        return True

    monkeypatch.setattr(cli, "carry_out", recorded)
    monkeypatch.setattr(cli, "_answer", answered)
    assert main(["record", "-o", str(out), *words]) == 0
    assert (owners, out.stat().st_uid) == ({"when answered": 0}, NOBODY)
    assert {path.stat().st_uid for path in out.iterdir()} == {0}
    assert (out / "answer.txt").read_text() == "so\n"
    assert not list(Path("/dev/shm").glob("writestall-run-*/nameless"))
