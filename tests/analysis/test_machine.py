# SPDX-License-Identifier: GPL-2.0-only
"""This test will hold machine code to the same answers as Python, and no loop to it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import test_repeated_lines as repeated
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_processes import told

from writestall import machine
from writestall.parse import read_stream

pytest.importorskip("numba")
SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Has no code made at first; `fast` has it made for any run."""
    with monkeypatch.context() as patch:
        patch.setattr(machine, "WORTH_EVENTS", 1 << 62)
        yield patch


def fast(patch: pytest.MonkeyPatch) -> None:
    """Has machine code made, however short the run."""
    patch.setattr(machine, "WORTH_EVENTS", 0)


@settings(max_examples=150, suppress_health_check=SLOW, deadline=None)
@given(st.lists(repeated.LINES, max_size=40))
def test_lines_that_repeat(plain: pytest.MonkeyPatch, lines: list[str]) -> None:
    """The same sleeps and the same complaints."""
    plain.setattr(machine, "WORTH_EVENTS", 1 << 62)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stap.jsonl"
        path.write_text("\n".join([repeated.BEGIN, *lines]))
        expected = told(read_stream(path))
        fast(plain)
        assert told(read_stream(path)) == expected


def test_a_folder_that_keeps_no_code(plain: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is made each time."""
    refuses = tmp_path / "file"
    refuses.touch()
    assert not machine._is_writable(refuses / "code")
    assert machine._is_writable(tmp_path / "code")
