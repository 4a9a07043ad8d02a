# SPDX-License-Identifier: GPL-2.0-only
"""This test will check what repro/crash must refuse before it changes anything."""

from __future__ import annotations

import subprocess

import pytest

from support import PROJECT

PLACES = ("--promises", "/nowhere/p", "--kept", "/nowhere/k")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("write", "xfs"), "name one option"),
        (
            ("write", "btrfs", "--disk", "/dev/null", *PLACES),
            "write resets this machine: give --cut-this-machine",
        ),
        (
            ("write", "btrfs", "--disk", "/dev/null", *PLACES, "--cut-this-machine"),
            "/dev/null is not a block device",
        ),
        (("check", "tmpfs"), "file system or option 'tmpfs' is not known"),
        (("write", "btrfs", "--seconds", "0"), "--seconds: '0': want 0.001 to 3600"),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value[:2]),
)
def test_it_refuses_in_one_line(words: tuple[str, ...], said: str) -> None:
    done = subprocess.run(
        [PROJECT / "repro/crash", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_it_lists_what_has_a_disk() -> None:
    listed = subprocess.run(
        [PROJECT / "repro/crash", "list"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "ext4-default" in listed
    assert "tmpfs" not in listed
