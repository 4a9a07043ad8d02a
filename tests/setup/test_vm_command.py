# SPDX-License-Identifier: GPL-2.0-only
"""This test will give a machine what the lab compiled, without a machine."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from driver.commands import vm
from driver.progress import Progress
from driver.settings import Settings
from machine import cli


def test_a_machine_sees_what_was_compiled_for_its_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[argparse.Namespace] = []

    def prepare(_: Progress, settings: Settings) -> tuple[Path, str]:
        assert settings.kernel == "7.2"
        return Path("python"), str(tmp_path)

    def run_machine(args: argparse.Namespace, _: list[str]) -> int:
        asked.append(args)
        return 0

    monkeypatch.setattr(vm, "prepare", prepare)
    monkeypatch.setattr(cli, "run_machine", run_machine)
    parser = argparse.ArgumentParser()
    vm.arguments(parser)
    for words in (["--kernel", "7.2", "--built"], ["--kernel", "7.2"]):
        args = parser.parse_args(words)
        args.tail = ["true"]
        assert vm.main(args) == 0
    shares = [[(str(one.source), one.folder) for one in args.share] for args in asked]
    assert shares == [[(str(tmp_path), "/mnt/build")], []]
