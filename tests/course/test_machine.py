# SPDX-License-Identifier: GPL-2.0-only
"""This test will end `writestall lab` in several ways below `course start`."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from support import PROJECT
from writestall.cli.main import main
from writestall.course import checkout, machine
from writestall_base.errors import UserError


@pytest.mark.parametrize(
    ("status", "why"), [(130, "interrupted"), (1, "the run failed; see above")]
)
def test_a_run_that_did_not_end_says_how_to_start_again(
    status: int, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = tmp_path / "lab"
    lab.write_text(f"#!/bin/sh\nexit {status}\n")
    lab.chmod(lab.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(checkout, "program", lambda: lab)
    with pytest.raises(UserError) as caught:
        machine.run(tmp_path, 2, "page-lock", [])
    again = "./writestall course reset 2, and start it again"
    assert caught.value.lines == (f"lab 2: {why}; {again}",)
    assert caught.value.status == status


@pytest.mark.parametrize("seed", ["", "anna"])
def test_the_start_of_a_mystery_prints_no_chain(
    seed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """The question is printed, and how to answer it in that folder."""
    lab = tmp_path / "lab"
    run = PROJECT / "tests/data/runs/page-lock-7.2"
    lab.write_text(
        "#!/bin/sh\necho '[6/8] ok run' >&2\necho 'root: vdb slow for jbd2'\n"
        f"cp -r {run} $4/20260101-000000-made && gunzip -r $4/2*\n"
    )
    lab.chmod(lab.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(checkout, "program", lambda: lab)
    drawn = ["--seed", seed] if seed else []
    out = str(tmp_path / "work")
    assert main(["course", "start", "2", *drawn, "--out", out]) == 0
    shown = capfd.readouterr()
    assert ("root: vdb" in shown.out) is not bool(seed)
    assert "[6/8] ok run" in shown.err
    assert f"--ms MS --out {out}\n" in shown.out


@pytest.mark.parametrize(
    ("words", "kernel"),
    [
        (["2"], ["--kernel", "7.2"]),
        (["2", "--seed", "anna"], ["--kernel", "7.2"]),
        (["2", "--kernel", "6.12"], ["--kernel", "6.12"]),
        (["1"], []),
    ],
)
def test_a_lab_runs_on_the_kernel_that_its_page_is_true_on(
    words: list[str], kernel: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def run(_: Path, __: int, what: str, options: list[str], *, answers: bool) -> None:
        assert answers is ("--seed" not in words)
        asked.extend(options)
        raise UserError("no machine here")

    monkeypatch.setattr(machine, "run", run)
    assert main(["course", "start", *words, "--out", str(tmp_path)]) == 2
    assert asked == kernel
