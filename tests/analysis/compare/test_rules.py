# SPDX-License-Identifier: GPL-2.0-only
"""This test will hold options to objectives and margins, and read the verdicts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from comparisons import QUICK, SLOW, Made, comparison, cut, steady
from support import PROJECT
from writestall.cli.main import main
from writestall.compare import rules
from writestall.compare.rules import Word
from writestall_base import designs
from writestall_base.errors import UserError
from writestall_base.objectives import parse_factor, parse_objective

SCHEMA = json.loads((PROJECT / "docs/compare.schema.json").read_text())
TAIL = 0.005


def share(over: int) -> list[Made]:
    """Eight runs with so many of a hundred requests over 65 ms."""
    return [
        steady(*[1.0 + at / 10] * (100 - over), *[200.0 + at] * over) for at in range(8)
    ]


@pytest.fixture
def three(tmp_path: Path) -> Path:
    wanted: dict[str, list[Made] | list[None]]
    wanted = {"base": share(4), "base-again": share(4)}
    wanted |= {"half": share(2), "twice": share(8), "gone": [None] * 8}
    return comparison(tmp_path / "c", wanted)


def judged(
    path: Path, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, dict[str, str], dict[str, Any]]:
    """The status, the verdict of each option, and the whole answer."""
    status = main(["compare-options", str(path), "--json", *words])
    answer = json.loads(capsys.readouterr().out)
    jsonschema.validate(answer, SCHEMA)
    words_of = {row["option"]: row["word"] for row in answer["verdicts"]}
    return status, words_of, answer


def test_a_margin_is_over_the_baseline(
    three: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, words, _ = judged(three, capsys, "--margin", "1.5x")
    assert words == {"base": "PASS", "half": "PASS", "twice": "FAIL", "gone": "UNKNOWN"}
    assert status == 1
    _, words, _ = judged(three, capsys, "--margin", "2.05x")
    assert words["twice"] == "PASS"


def test_an_objective_is_of_the_runs_and_of_all_requests(
    three: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, words, answer = judged(three, capsys, "--objective", "over 65ms < 5%")
    assert words == {"base": "PASS", "half": "PASS", "twice": "FAIL", "gone": "UNKNOWN"}
    assert (status, answer["slo_ns"]) == (1, 65_000_000)
    said = {row["option"]: row["reasons"] for row in answer["verdicts"]}
    assert said["half"][0].startswith(
        "8 of 8 runs met it, 2 % of all requests over; at"
    )
    assert said["twice"] == ["0 of 8 runs met it, 8 % of all requests over"]


def test_what_passes_ends_with_status_0_and_what_is_open_with_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    good = comparison(tmp_path / "good", {"one": QUICK, "other": QUICK})
    assert judged(good, capsys, "--objective", "over 65ms < 1%")[0] == 0
    few = comparison(tmp_path / "few", {"one": QUICK[:4], "other": QUICK[:4]})
    status, words, answer = judged(few, capsys, "--objective", "over 65ms < 1%")
    assert (status, set(words.values())) == (3, {"UNKNOWN"})
    assert "fewer than 6 runs cannot decide" in answer["verdicts"][0]["reasons"][0]


def test_without_a_rule_nothing_is_judged(
    three: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, words, answer = judged(three, capsys)
    assert (status, words) == (0, {})
    assert answer["rule"].startswith("none: ")


def test_the_plans_rule_holds_and_another_one_is_named_so(
    three: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = json.loads((three / "plan.json").read_text())
    plan["rules"] = {"objective": "over 65ms < 5%", "margin": None, "by": "p99"}
    (three / "plan.json").write_text(json.dumps(plan))
    _, words, answer = judged(three, capsys)
    assert (words["twice"], answer["by"]) == ("FAIL", "request_p99_ns")
    assert "given after" not in answer["rule"]
    _, _, answer = judged(three, capsys, "--objective", "over 65ms < 9%")
    assert answer["rule"].endswith("(given after the plan was made)")


@pytest.mark.parametrize(("more", "word"), [((), "FAIL"), (("--may-lose",), "PASS")])
def test_what_loses_synced_data_does_not_pass_unless_it_may(
    three: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], word: str
) -> None:
    cut(three, "half", lost_synced=3)
    cut(three, "base", lost_synced=0)
    _, words, answer = judged(three, capsys, "--objective", "over 65ms < 5%", *more)
    assert (words["half"], words["base"]) == (word, "PASS")
    reason = "lost 3 records that fsync(2) had confirmed"
    assert (reason in str(answer["verdicts"])) == (word == "FAIL")


def test_an_overloaded_option_is_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    behind = [steady(*[1.0] * 100, undone=12) for _ in range(8)]
    path = comparison(tmp_path / "c", {"one": QUICK, "behind": behind})
    _, words, answer = judged(path, capsys, "--objective", "over 65ms < 5%")
    assert words == {"one": "PASS", "behind": "UNKNOWN"}
    assert "overloaded: it did 88.0 % of the load" in str(answer["verdicts"])


def test_a_look_that_was_not_planned_decides_nothing(
    three: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = json.loads((three / "plan.json").read_text())
    plan["looks"] = [12, 16]
    (three / "plan.json").write_text(json.dumps(plan))
    status, words, answer = judged(three, capsys, "--margin", "1.5x")
    assert (status, set(words.values())) == (3, {"UNKNOWN"})
    assert not any(pair["clear"] for pair in answer["pairs"])
    assert "no look at 8 rounds was planned" in str(answer["verdicts"])


def test_a_comparison_is_decided_when_no_verdict_is_open(
    three: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not judged(three, capsys, "--margin", "1.5x")[2]["decided"]
    full = {"base": share(4), "base-again": share(4), "twice": share(8)}
    path = comparison(tmp_path / "full", full)
    assert judged(path, capsys, "--margin", "1.5x")[2]["decided"]
    assert judged(path, capsys)[2]["decided"]
    few = {name: runs[:4] for name, runs in full.items()}
    path = comparison(tmp_path / "few", few)
    assert not judged(path, capsys)[2]["decided"]


@pytest.mark.parametrize(
    ("shares", "limit", "word"),
    [
        ([0.001] * 9, 0.01, Word.PASS),
        ([0.02] * 9, 0.01, Word.FAIL),
        # Most runs meet it, but all requests together do not.
        ([0.0] * 8 + [0.5], 0.01, Word.UNKNOWN),
        ([0.0] * 5 + [0.5] * 4, 0.01, Word.FAIL),
        ([0.0101] * 5 + [0.0099] * 4, 0.01, Word.MARGINAL),
        ([0.001] * 4 + [0.02] * 5, 0.01, Word.UNKNOWN),
        ([0.0] * 7, 0.01, Word.UNKNOWN),
    ],
)
def test_words_of_an_objective(shares: list[float], limit: float, word: Word) -> None:
    runs = np.array(shares)
    assert rules.hold_objective(runs, float(runs.mean()), limit, TAIL)[0] is word


@pytest.mark.parametrize(
    ("ratios", "word"),
    [
        ([1.0, 1.1, 0.9, 1.0, 1.0, 1.1, 1.0, 1.1], Word.PASS),
        ([1.3, 1.4, 1.3, 1.4, 1.3, 1.4, 1.3, 1.4], Word.FAIL),
        ([1.19, 1.21, 1.2, 1.18, 1.22, 1.2, 1.2, 1.2], Word.MARGINAL),
        ([0.5, 2.0, 0.7, 1.5, 3.0, 1.0, 1.1, 0.9], Word.UNKNOWN),
        ([np.inf] * 8, Word.FAIL),
    ],
)
def test_words_of_a_margin(ratios: list[float], word: Word) -> None:
    assert rules.hold_margin(np.array(ratios), 1.2, TAIL)[0] is word


def test_there_is_no_factor_over_a_reference_that_measures_0() -> None:
    _, said = rules.hold_margin(np.array([np.inf] * 3), 1.2, TAIL)
    assert said.startswith("the baseline measures 0; fewer than ")


def test_so_many_rounds_can_give_every_verdict() -> None:
    found = [designs.least_to_judge(options, True, False) for options in (2, 8, 14)]
    assert found == [6, 8, 9]
    assert designs.least_to_judge(8, True, True) == 9
    assert designs.least_to_judge(8, False, False) == 0
    tail = 0.05 * 0.8 / 8
    bad = np.full(found[1], 0.02)
    assert rules.hold_objective(bad, 0.02, 0.0199, tail)[0] is Word.FAIL
    assert rules.hold_objective(bad[1:], 0.02, 0.0199, tail)[0] is Word.UNKNOWN


@pytest.mark.parametrize(
    "text", ["", "65ms", "over 65 < 1%", "over 65ms < 0%", "over 65ms < 100%"]
)
def test_a_bad_objective_names_a_good_one(text: str) -> None:
    with pytest.raises(UserError, match=r"want one like .over 65ms < 0\.1%."):
        parse_objective(text)


@pytest.mark.parametrize("text", ["", "1.2", "0.9x", "1x", "x", "nanx"])
def test_a_bad_factor_names_a_good_one(text: str) -> None:
    with pytest.raises(
        UserError, match=r"--effect .*: want a factor above 1, like 1\.2x"
    ):
        parse_factor("--effect", text)


def test_a_baseline_without_an_objective_is_no_part_of_the_headline(
    three: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    headlines = {
        name: judged(three, capsys, *words)[2]["headline"]
        for name, words in {
            "margin": ("--margin", "1.2x"),
            "both": ("--margin", "1.2x", "--objective", "over 65ms < 6%"),
        }.items()
    }
    assert "base" not in headlines["margin"] and "base" in headlines["both"]


def test_a_margin_may_ask_for_a_gain() -> None:
    held_to = rules.of_plan({"rules": {"margin": "0.5x"}})
    assert held_to.margin == 0.5
    for gain, word in ((0.3, Word.PASS), (0.7, Word.FAIL)):
        assert rules.hold_margin(np.full(20, gain), 0.5, TAIL)[0] is word
    with pytest.raises(UserError, match="want a factor above 0"):
        rules.of_plan({"rules": {"margin": "0x"}})


def test_slow_and_quick_have_all_that_the_schema_names(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = comparison(
        tmp_path / "c", {"slow": SLOW, "quick": QUICK, "slow-again": SLOW}
    )
    _, _, answer = judged(path, capsys)
    assert set(SCHEMA["properties"]) == set(answer)
    assert set(SCHEMA["$defs"]["pair"]["properties"]) == set(answer["pairs"][0])
