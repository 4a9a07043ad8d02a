# SPDX-License-Identifier: GPL-2.0-only
"""This test will begin a record with each engine, and read what is said first."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from recorder import recording
from recorder.say import Voice


@pytest.mark.parametrize(
    ("engine", "module", "says"),
    [
        ("stap", None, True),
        ("stap", Path("stalled_writes.ko"), False),
        ("core", None, False),
    ],
)
def test_it_says_that_systemtap_compiles(
    engine: str,
    module: Path | None,
    says: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("recorder.recording.tracer.tracing", lambda *_: nullcontext([]))
    settings: Any = SimpleNamespace(
        options=argparse.Namespace(module=module),
        engine=SimpleNamespace(name=engine),
        guard=SimpleNamespace(session=lambda *_: None),
        voice=Voice(silent=False),
    )
    run: Any = SimpleNamespace(manifest={}, folder=Path())
    with recording._tracing(run, settings, None):
        pass
    assert ("compiles a kernel module" in capsys.readouterr().err) == says
