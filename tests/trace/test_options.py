# SPDX-License-Identifier: GPL-2.0-only
"""This test will check the values that the launcher's options pass to the scripts."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from launcher import options
from launcher.errors import TraceError
from support import PROJECT

SCRIPT = PROJECT / "stap/stalled_writes.stp"


def values(*words: str, script: Path = SCRIPT) -> dict[str, int | str]:
    parser = argparse.ArgumentParser()
    options.add_arguments(parser)
    return options.variables(parser.parse_args(words), script)


def refusal(*words: str, script: Path = SCRIPT) -> str:
    with pytest.raises(TraceError) as raised:
        values(*words, script=script)
    return str(raised.value)


def test_nothing_given_is_nothing_set() -> None:
    assert values() == {}


def test_each_option_is_a_variable() -> None:
    words = ("--floor-us", "0", "--stall-us", "7", "--pid", "1", "--comm", "jbd2/vdb-8")
    assert values(*words) == {
        "floor_us": 0,
        "stall_us": 7,
        "only_pid": 1,
        "only_comm": "jbd2/vdb-8",
    }


def test_a_device_is_the_kernel_s_own_number() -> None:
    assert values("--device", "254:16") == {"only_dev": (254 << 20) | 16}


def test_a_path_is_an_inode_on_its_file_system(tmp_path: Path) -> None:
    given = values("--path", str(tmp_path))
    assert given["only_ino"] == tmp_path.stat().st_ino
    device = tmp_path.stat().st_dev
    assert given["only_dev"] == (os.major(device) << 20) | os.minor(device)


def test_a_mount_point_with_a_blank_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a b"
    folder.mkdir()
    mounts = tmp_path / "mountinfo"
    escaped = str(folder).replace(" ", "\\040")
    mounts.write_text(
        "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
        f"21 20 0:44 / {escaped} rw - btrfs /dev/sdb rw\n"
    )
    monkeypatch.setattr(options, "MOUNTS", mounts)
    assert values("--path", str(folder))["only_dev"] == 44
    assert values("--path", str(tmp_path))["only_dev"] == (8 << 20) | 1
    said = refusal("--path", str(folder), "--device", "8:1")
    assert said == f"--path {folder} is not on --device"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--pid", "0"), "--pid 0: give 1 or more"),
        (("--stall-us", "-1"), "--stall-us -1: give 0 or more"),
        (("--comm", ""), "--comm '': a name has 1 to 15 bytes"),
        (("--comm", "sixteen bytes ab"), "1 to 15 bytes"),
        (("--device", "/dev/null"), "no block device; give one, or MAJ:MIN"),
        (("--device", "vdb"), "--device vdb: No such file or directory"),
        (("--path", "/nowhere"), "--path /nowhere: No such file or directory"),
    ],
)
def test_a_mistake_is_named(words: tuple[str, ...], said: str) -> None:
    assert said in refusal(*words)


def test_what_a_script_does_not_have_it_refuses() -> None:
    script = PROJECT / "stap/journal_commits.stp"
    assert refusal("--pid", "1", script=script) == "journal_commits has no --pid"
    assert refusal("-v", script=script) == "journal_commits has no -v; slow_writes has"
    script = PROJECT / "stap/drilldown.stp"
    assert refusal("--comm", "x", script=script) == "drilldown has no --comm"
