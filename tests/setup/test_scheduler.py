# SPDX-License-Identifier: GPL-2.0-only
"""This test will run `make compare` on simulated clusters, working and broken ones, and
check the commands for Snakemake."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
from pathlib import Path

import pytest

from driver import cluster, kernels, losses
from driver.commands import compare, job
from writestall_base.errors import UserError

PRINTED = """SLURM run ID: ours
Submitted job 4 with external jobid '17'.
Submitted job 3 with external jobid '18'.
Finished jobid: 4 (Rule: cell)
Submitted group job 2 with external jobid 'nineteen'.
Error in rule cell:
Submitted job 3 with external jobid '20'.
"""
PROFILE = """# ours
cluster-generic-submit-cmd:
  sbatch --parsable
    --mem={resources.mem_mb}
"""


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the whole PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("SNAKEMAKE_PROFILE", raising=False)
    return tmp_path


def _program(folder: Path, name: str, does: str) -> None:
    """A command in it that does this and records its arguments."""
    path = folder / name
    path.write_text(f'#!/bin/sh\necho "$@" >>{folder}/told-{name}\n{does}\n')
    path.chmod(0o755)


def _slurm(folder: Path, age_s: int, accounting: bool) -> None:
    for name in ("sbatch", "squeue", "scancel"):
        _program(folder, name, "exit 0")
    _program(folder, "scontrol", f'echo "MinJobAge               = {age_s} sec"')
    _program(folder, "sacct", f"exit {int(not accounting)}")


def _profile(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    profile = folder / "profile"
    profile.mkdir()
    (profile / "config.yaml").write_text(text)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("SNAKEMAKE_PROFILE", "profile")
    return profile


def test_accounting_is_asked_where_it_answers(there: Path) -> None:
    _slurm(there, 30, accounting=True)
    assert cluster.options("slurm") == ()


def test_without_accounting_the_queue_is_asked(there: Path) -> None:
    _slurm(there, 300, accounting=False)
    assert cluster.options("slurm") == ("--slurm-status-command", "squeue")


def test_a_cluster_that_forgets_too_soon_is_refused(there: Path) -> None:
    _slurm(there, 30, accounting=False)
    with pytest.raises(UserError, match=r"MinJobAge=30 .* set it to 120 or more"):
        cluster.options("slurm")


def test_no_slurm_is_refused(there: Path) -> None:
    with pytest.raises(UserError, match=r"no sbatch, .* on PATH; start it on"):
        cluster.options("slurm")
    _slurm(there, 300, accounting=True)
    _program(there, "scontrol", "echo 'Unable to contact slurm controller' >&2; exit 1")
    with pytest.raises(UserError, match=r"no cluster \(Unable to contact"):
        cluster.options("slurm")


def test_what_nothing_could_cancel_is_refused(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UserError, match="want cluster-generic-submit-cmd and cluster-"):
        cluster.options("cluster-generic")
    profile = _profile(there, PROFILE, monkeypatch)
    with pytest.raises(UserError, match="want cluster-generic-cancel-cmd in a profile"):
        cluster.options("cluster-generic")
    (profile / "config.v9+.yaml").write_text(
        PROFILE + "cluster-generic-cancel-cmd: scancel\n"
    )
    assert cluster.options("cluster-generic") == ()
    monkeypatch.setenv("SNAKEMAKE_PROFILE", "nowhere")
    with pytest.raises(UserError, match="SNAKEMAKE_PROFILE=nowhere: want a folder"):
        cluster.options("local")


def test_what_snakemake_left_in_the_queue_is_cancelled(
    there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _slurm(there, 300, accounting=True)
    cluster.cancel("slurm", PRINTED)
    assert (there / "told-scancel").read_text() == "--name ours\n"
    profile = _profile(there, PROFILE + "cluster-generic-cancel-cmd: end", monkeypatch)
    assert cluster.options("cluster-generic") == ()
    _program(profile, "end", "exit 0")
    cluster.cancel("cluster-generic", PRINTED)
    assert (profile / "told-end").read_text() == "20 nineteen\n"
    cluster.cancel("local", PRINTED)
    assert (there / "told-scancel").read_text() == "--name ours\n"


@pytest.mark.parametrize(
    "asked",
    [
        "--kernel 5.10 --accel icount --cut 0",
        "--kernel 6.12,7.2 --accel tcg --engine core --cuts 20 --cut 9",
        "--kernel 6.12 --accel tcg --volatile-cache",
    ],
)
def test_a_job_gets_all_that_the_comparison_was_asked_for(asked: str) -> None:
    """What is handed to Snakemake reaches the command of each job, as it was given."""
    parser = argparse.ArgumentParser()
    compare.arguments(parser)
    request = compare.read(parser.parse_args(shlex.split(f"--fs xfs-default {asked}")))
    workflow = cluster.SNAKEFILE.read_text()
    assert " job {wildcards.what} {wildcards.number} {config[folder]:q}" in workflow
    assert " {config[options]}" in workflow
    parser = argparse.ArgumentParser()
    job.arguments(parser)
    got = parser.parse_args([job.ROUND, "3", ".", *shlex.split(request.options)])
    assert (got.number, kernels.read(got)) == (3, request.kernels)
    assert (got.engine, losses.Asked.of(got)) == (request.engine, request.cuts)


@pytest.mark.on_demand("it installs Snakemake")
def test_a_kernels_name_is_no_number(tmp_path: Path) -> None:
    """Snakemake takes 5.10 in its configuration for 5.1."""
    spread = cluster.Cluster(2, "local", ())
    words = "--kernel 5.10 --accel tcg"
    config = ["folder=/a b", f"options={words}", "minutes=60"]
    command = spread._command(tmp_path, ["round-2.done"], config)
    shown = subprocess.run(
        [*command, "--dry-run", "--printshellcmds"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"writestall job round 2 '/a b' {words}\n" in shown.stdout + shown.stderr


def test_scripts_of_jobs_are_in_no_folder_of_another_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "small.jobs"
    for _ in range(2):
        assert cluster._own_folder(mine).stat().st_mode & 0o77 == 0
    (tmp_path / "link.jobs").symlink_to(mine)
    (tmp_path / "file.jobs").touch()
    for name in ("link", "file"):
        with pytest.raises(UserError, match="no folder of yours: move it away"):
            cluster._own_folder(tmp_path / f"{name}.jobs")
    monkeypatch.setattr(os, "geteuid", lambda: mine.stat().st_uid + 1)
    with pytest.raises(UserError, match="no folder of yours"):
        cluster._own_folder(mine)
