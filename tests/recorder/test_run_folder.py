# SPDX-License-Identifier: GPL-2.0-only
"""This test will have root write a recording where other users have laid traps."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from recorder.run_folder import check_kept, new_folder
from writestall_base.errors import UserError
from writestall_base.progress import Progress
from writestall_base.steps import Run
from writestall_base.stop import Stop

NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: other owners")


def _run(folder: Path) -> Run:
    return Run(folder, Progress("none"), Stop(""))


@needs_root
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    """Before, root's manifest was written through its owner's link."""
    folder, victim = tmp_path / "run", tmp_path / "victim"
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    with pytest.raises(UserError, match="belongs to user 65534, not to user 0"):
        new_folder(folder, Path)
    assert not list(folder.iterdir()) and not victim.exists()


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o1777])
def test_a_folder_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(UserError, match="others may write in it; name a new one"):
        new_folder(folder, Path)


def test_a_link_to_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "run").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError, match="run: Not a directory; name another"):
        new_folder(tmp_path / "run", Path)


def test_an_empty_folder_of_ones_own_is_taken(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o700)
    found = new_folder(tmp_path / "run", Path)
    assert found.path == tmp_path / "run"
    assert not list(found.path.iterdir())


def test_what_takes_its_place_gets_nothing(tmp_path: Path) -> None:
    """Who owns the folder above can move it and put a link there."""
    found, victim = new_folder(tmp_path / "a/run", Path), tmp_path / "victim"
    victim.mkdir()
    found.path.rename(tmp_path / "a/moved")
    found.path.symlink_to(victim)
    _run(found.pinned).create()
    assert not list(victim.iterdir())
    assert (tmp_path / "a/moved/manifest.json").exists()
    assert found.named(f"{found.pinned}/x: full") == f"{found.path}/x: full"


@needs_root
def test_it_is_handed_over_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    monkeypatch.setenv("SUDO_GID", str(NOBODY))
    found, victim = new_folder(tmp_path / "run", Path), tmp_path / "victim"
    victim.mkdir()
    found.path.rename(tmp_path / "moved")
    found.path.symlink_to(victim)
    found.hand_over()
    assert victim.stat().st_uid == 0
    assert (tmp_path / "moved").stat().st_uid == NOBODY


Change = Callable[[Path], None]


@needs_root
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda place: os.chown(place, NOBODY, NOBODY), "belongs to user 65534"),
        (lambda place: os.chown(place.parent, NOBODY, -1), "belongs to user 65534"),
        (lambda place: place.chmod(0o1777), "others may write in it"),
        (lambda place: place.parent.chmod(0o770), "others may write in it"),
    ],
)
def test_a_folder_of_a_service_is_only_roots(
    tmp_path: Path, change: Change, said: str
) -> None:
    place = tmp_path / "above/dumps"
    place.mkdir(parents=True)
    check_kept("--dump-dir", place)
    place.parent.chmod(0o1777)
    check_kept("--dump-dir", place)
    change(place)
    with pytest.raises(UserError, match=f"--dump-dir {place}: .*: {re.escape(said)}"):
        check_kept("--dump-dir", place)
