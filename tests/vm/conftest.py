# SPDX-License-Identifier: GPL-2.0-only
"""conftest: the host's processor and that of guests, for tests of both."""

from __future__ import annotations

import platform

import pytest

from machine import architectures


@pytest.fixture
def _on_x86(monkeypatch: pytest.MonkeyPatch) -> None:
    """An x86-64 host, whose guests are as it is."""
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.delenv(architectures.CHOICE, raising=False)


@pytest.fixture
def _aarch64(_on_x86: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Guests of aarch64 on that host."""
    monkeypatch.setenv(architectures.CHOICE, "aarch64")
