# SPDX-License-Identifier: GPL-2.0-only
"""test_modes: override the mode of a scenario's rules, or refuse it in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_scenario import GOOD, parse, run

from labrun.scenario import modes, reading
from labrun.scenario.rule import MODES, Inject


@pytest.mark.parametrize("mode", MODES)
def test_all_rules_have_the_mode_and_nothing_else_changes(mode: str) -> None:
    found = parse(GOOD)
    changed = modes.applied(found, mode)
    assert {rule.mode for rule in changed.inject} == {mode}
    assert modes.applied(changed, found.inject[0].mode) == found


def test_the_manifest_shows_the_mode_that_was_in_force(tmp_path: Path) -> None:
    file = tmp_path / "tiny.toml"
    file.write_text(GOOD)
    table = modes.as_read(reading.table_of(GOOD, str(file)), "defer")
    assert [rule["mode"] for rule in table["inject"]] == ["defer"]
    assert modes.as_read(table, None) == table


@pytest.mark.parametrize(
    ("release", "mode"),
    [
        ("4.4.155", "spin"),
        ("4.18.0-25-generic", "spin"),
        ("4.19.108", "sleep"),
        ("7.2", "sleep"),
    ],
)
def test_an_old_kernel_spins_where_a_rule_says_so(release: str, mode: str) -> None:
    rule = Inject(delay_us=1, spin_before="4.19")
    assert modes.on_kernel(rule, release).mode == mode
    assert modes.on_kernel(Inject(delay_us=1), release).mode == "sleep"


def test_dry_run_sets_it() -> None:
    words = ["--dry-run", "--disk", "/dev/null"]
    own, other = (
        run("page-lock", *words, *more).stdout for more in ((), ("--mode", "defer"))
    )
    set_it = "sh -c 'echo defer >/sys/kernel/config/biodelay/rule0/mode'"
    assert set_it not in own.splitlines()
    assert set_it in other.splitlines()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["page-lock", "--mode", "differ"],
            "argument --mode: unknown 'differ'; did you mean defer?",
        ),
        (["healthy", "--mode", "defer"], "--mode defer: healthy has no rules"),
        (
            ["page-lock", "--mode", "defer", "--injector", "dm-delay"],
            "--mode needs a SCENARIO and --injector biodelay",
        ),
        (["--plan", "x", "--mode", "defer"], "--mode needs a SCENARIO and --injector"),
    ],
)
def test_a_mode_that_cannot_be_is_refused(words: list[str], said: str) -> None:
    refused = run(*words, "--check")
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1
    assert said in refused.stderr
