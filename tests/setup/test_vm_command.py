# SPDX-License-Identifier: GPL-2.0-only
"""This test will give a machine what the lab compiled, without a machine."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from driver import artefacts
from driver.commands import vm
from driver.progress import Progress
from driver.settings import Settings
from machine import cli
from support import PROJECT


def test_a_machine_sees_what_was_compiled_for_its_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[argparse.Namespace] = []

    def prepare(_: Progress, settings: Settings) -> tuple[Path, str]:
        assert settings.kernel == "7.2"
        return Path("python"), str(tmp_path)

    def build(kernel: str, more: tuple[artefacts.Part, ...]) -> Path:
        assert (kernel, more) == ("7.2", artefacts.LESSONS)
        return PROJECT

    def run_machine(args: argparse.Namespace, _: list[str]) -> int:
        asked.append(args)
        return 0

    monkeypatch.setattr(vm, "prepare", prepare)
    monkeypatch.setattr(artefacts, "build", build)
    monkeypatch.setattr(cli, "run_machine", run_machine)
    parser = argparse.ArgumentParser()
    vm.arguments(parser)
    for words in (["--built"], ["--lessons"], []):
        args = parser.parse_args(["--kernel", "7.2", *words])
        args.tail = ["true"]
        assert vm.main(args) == 0
    shares = [[(str(one.source), one.folder) for one in args.share] for args in asked]
    seen = [[(str(folder), "/mnt/build")] for folder in (tmp_path, PROJECT)]
    assert shares == [*seen, []]
