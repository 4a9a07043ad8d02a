# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare options whose latencies are known."""

from __future__ import annotations

import gc
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hdrh.histogram import HdrHistogram

from comparisons import DURATION_S, MS, QUICK, SLOW, Made, comparison, cut, steady
from writestall.cli.main import main
from writestall.compare import durability, ranking, sheet, wording
from writestall.compare.folder import open_comparison
from writestall.compare.ranking import Answer
from writestall.compare.rules import Rules
from writestall.compare.side_by_side import side_by_side

SLO_NS = 65 * MS


def answer(path: Path, by: str = "over-slo") -> Answer:
    return ranking.answer(open_comparison(path), SLO_NS, by)


@pytest.fixture
def two(tmp_path: Path) -> Path:
    return comparison(tmp_path / "c", {"slow": SLOW, "quick": QUICK})


def test_the_numbers_are_those_of_the_median_run(two: Path) -> None:
    found = {row.option.name: row.numbers for row in answer(two).ranking}
    slow = found["slow"]
    assert slow["request_p50_ns"].value == pytest.approx(1.35 * MS, rel=0.05)
    assert slow["request_p99.9_ns"].value == pytest.approx(903.5 * MS, rel=0.01)
    assert slow["request_max_ns"].value == pytest.approx(903.5 * MS, rel=0.01)
    assert slow["write_max_ns"].value == pytest.approx(451.8 * MS, rel=0.01)
    assert slow["over_slo_share"].value == pytest.approx(0.01)
    assert slow["throughput_per_s"].value == pytest.approx(100)
    # build.cascade() stalls for 1 s.
    assert slow["stall_s_per_hour"].value == pytest.approx(3600 / DURATION_S, rel=0.01)
    assert found["quick"]["stall_s_per_hour"].value == 0
    assert found["quick"]["over_slo_share"].value == 0


def test_the_best_one_comes_first_and_the_difference_is_clear(two: Path) -> None:
    found = answer(two)
    assert [row.option.name for row in found.ranking] == ["quick", "slow"]
    (pair,) = found.pairs
    assert (pair.option, pair.baseline) == ("quick", "slow")
    assert (pair.clear, pair.better) == (True, True)
    assert (pair.lower, pair.higher, pair.rounds) == (8, 0, 8)
    assert pair.difference.value == pytest.approx(-0.01)
    said = sheet.headline(found, [])
    wanted = "Against slow, by share of requests over 65 ms: clearly lower quick."
    assert said == wanted


def test_the_cause_is_what_most_stall_time_went_to(two: Path) -> None:
    causes = {row.name: (row.cause, row.root) for row in wording.rows(answer(two))}
    assert causes["slow"][0].startswith("journal_buffer ")
    assert causes["slow"][1].startswith("vdb slow for jbd2 ")
    assert causes["quick"] == ("no stall", "-")


def test_a_comparison_says_what_it_can_find_and_what_more_costs(tmp_path: Path) -> None:
    """Runs begin 17 s after each other, and vary by a factor of two."""
    spread = (1.0, 1.9, 1.3, 1.1, 2.0, 1.6, 1.2, 1.4)

    def runs(turn: int) -> list[Made]:
        turned = [*spread[turn:], *spread[:turn]]
        return [
            steady(
                *[each] * 20,
                more={"clock": {"realtime_ns": (at * 3 + turn) * 17 * 10**9}},
            )
            for at, each in enumerate(turned, 1)
        ]

    path = comparison(tmp_path / "c", {"a": runs(0), "a-again": runs(1), "b": runs(2)})
    found = answer(path, "p50")
    rounds = found.resolution.rounds_for
    assert rounds is not None and rounds > 8
    said = sheet.resolution(found)
    minutes = (rounds - 8) * 3 * 17 / 60
    assert (
        f"1.3x takes {rounds} rounds, {rounds - 8} more, about {minutes:.0f} min"
        in said
    )


def test_no_histogram_outlives_its_run(two: Path) -> None:
    """One holds its codec, which holds it: 1.5 MB for each second of each run, where
    the program has switched the garbage collector off."""

    def alive() -> int:
        return sum(isinstance(one, HdrHistogram) for one in gc.get_objects())

    gc.collect()
    gc.disable()
    try:
        before = alive()
        opened = open_comparison(two)
        assert alive() - before <= 1
        side_by_side(opened.options, DURATION_S, SLO_NS)
        assert alive() - before <= 1
    finally:
        gc.enable()


@pytest.mark.parametrize("missing", [4, 8])
def test_a_repetition_that_is_missing_is_not_waited_for(
    tmp_path: Path, missing: int
) -> None:
    again = [*SLOW[missing:], *[None] * missing]
    wanted: dict[str, Sequence[Made | None]]
    wanted = {"slow": SLOW, "slow-again": again, "quick": QUICK}
    found = answer(comparison(tmp_path / "c", wanted))
    assert (found.pairs[0].rounds, found.pairs[0].clear) == (8, True)
    assert (found.noise is None) == (missing == 8)


def test_runs_that_the_host_disturbed_are_counted(two: Path) -> None:
    """Two were repeated, and count; one never ended undisturbed."""
    for number in (1, 2):
        (two / f"disturbed/{number}/slow-at-100/3").mkdir(parents=True)
    (two / "quick-at-100/4").rename(two / "moved")
    (two / "disturbed/1/quick-at-100/4").mkdir(parents=True)
    found = answer(two)
    made = sheet.of(found, Rules(), [])
    environment = dict(made.facts)["environment"]
    assert "15 of 16 runs count, 3 that the host disturbed" in environment
    said = list(wording.caveats(found))
    assert (
        "quick round 4 does not count: the host disturbed each of its tries (1)" in said
    )


def test_added_looks_are_named(two: Path) -> None:
    plan = json.loads((two / "plan.json").read_text())
    (two / "plan.json").write_text(json.dumps(plan | {"looks": [6], "added": [8]}))
    found = answer(two)
    assert found.resolution.level == pytest.approx(0.1)
    made = sheet.of(found, Rules(), [])
    assert "looks were added at 8 rounds" in made.plan
    assert not found.pairs[0].clear


def test_too_few_rounds_say_that_nothing_can_be_clear(tmp_path: Path) -> None:
    five = {"slow": SLOW[:5], "quick": QUICK[:5]}
    found = answer(comparison(tmp_path / "c", five))
    assert not found.pairs[0].clear
    said = sheet.resolution(found)
    assert said.startswith("5 rounds cannot show any clear difference among so many")
    assert "8 can, 3 more" in said


def test_where_most_runs_measure_nothing_no_number_of_rounds_is_named(
    tmp_path: Path,
) -> None:
    path = comparison(tmp_path / "c", {"one": QUICK, "other": QUICK})
    assert "most runs measure 0" in sheet.resolution(answer(path))


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (None, "not run"),
        (steady(1.0, more={"status": "failed", "reason": "mount: no"}), "mount: no"),
        (steady(1.0, more={"status": "running"}), "cut_off"),
        (
            steady(1.0, late_ns=DURATION_S * 2 * 10**9 // 50),
            "keep its schedule: it was late",
        ),
        (Made([]), "latencies cannot be read"),
        (steady(), "latencies cannot be read"),
    ],
)
def test_a_run_that_does_not_count_says_why(
    tmp_path: Path, bad: Made | None, why: str
) -> None:
    path = comparison(
        tmp_path / "c", {"quick": [*QUICK, bad], "slow": [*SLOW, SLOW[0]]}
    )
    found = answer(path)
    quick = found.ranking[0]
    assert (quick.option.name, quick.runs) == ("quick", 8)
    (caveat,) = [line for line in wording.caveats(found) if "does not count" in line]
    assert caveat.startswith("quick round 9 does not count: ") and why in caveat


def test_an_option_without_a_run_comes_last_and_is_no_loser(tmp_path: Path) -> None:
    path = comparison(
        tmp_path / "c", {"slow": SLOW, "gone": [None] * 8, "quick": QUICK}
    )
    found = answer(path)
    assert [row.option.name for row in found.ranking] == ["quick", "slow", "gone"]
    assert "gone" not in sheet.headline(found, [])
    assert len(found.pairs) == 1


def test_few_runs_have_no_interval_and_the_report_says_so(tmp_path: Path) -> None:
    path = comparison(tmp_path / "c", {"slow": SLOW[:4], "quick": QUICK[:4]})
    found = answer(path)
    assert "no interval is given of fewer than 5 runs" in list(wording.caveats(found))
    assert found.pairs[0].difference.low is None
    assert not found.pairs[0].clear


def test_what_a_choice_costs_in_a_crash_is_said_to_be_missing(two: Path) -> None:
    assert durability.NOT_SHOWN in list(wording.caveats(answer(two)))


def test_what_a_cut_left_stands_in_text_and_json(
    two: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut(two, "slow", lost_synced=0)
    cut(two, "quick", lost_synced=7)
    (two / "crash/quick/2").mkdir()
    (two / "crash/quick/2/quick.json").write_text("{")
    assert main(["compare-options", str(two), "--write"]) == 0
    text = capsys.readouterr().out
    assert durability.NOT_SHOWN not in text
    assert (
        "fsync(2) had confirmed it: quick lost 7 of 90 records in 1 of 1 cuts." in text
    )
    rows = [line.split() for line in text.splitlines() if "12.5 s" in line]
    same = ["95", "11", "1", "12.5", "s"]
    assert rows == [
        ["slow", *"0 of 1 at most 95 % 0".split(), "90", "0", "0", *same],
        ["quick", *"1 of 1 2.5 to 100 % 0".split(), "90", "7", "7", *same],
    ]
    found = json.loads((two / "compare.json").read_text())["durability"]
    assert [row["option"] for row in found] == ["slow", "quick"]
    assert found[1]["synced"]["lost_synced"] == 7


@pytest.mark.parametrize(
    ("losing", "cuts", "loss"),
    [
        (0, 1, "at most 95 %"),
        (0, 20, "at most 14 %"),
        (3, 20, "3.2 to 38 %"),
        (20, 20, "83 to 100 %"),
    ],
)
def test_cuts_bound_how_often_fsynced_data_is_lost(
    two: Path, losing: int, cuts: int, loss: str
) -> None:
    for number in range(1, cuts + 1):
        cut(two, "quick", lost_synced=2 if number <= losing else 0, number=number)
    (kept,) = open_comparison(two).kept
    assert (kept.cuts, kept.losing, kept.rate) == (cuts, losing, loss)
    assert (kept.synced.synced, kept.synced.lost_synced) == (90 * cuts, 2 * losing)
    lines = sheet.of(answer(two), Rules(), []).lines
    lost = {line.option: line.lost for line in lines}
    assert lost == {"quick": f"{losing} of {cuts} cuts ({loss})", "slow": "not cut"}


def test_the_load_of_the_host_stands_beside_the_runs(two: Path) -> None:
    assert "host" not in dict(wording.facts(answer(two)))
    for number, (before, after, steal) in enumerate(
        ((0.2, 2.1, 0.0), (1.9, 9.6, 0.03))
    ):
        host = {"node": "lab1", "cpus": 2, "load_before": before, "load_after": after}
        machine = {"accel": "icount", "host": host | {"steal_share": steal}}
        (two / f"machines/{number}.json").write_text(json.dumps(machine))
    made = sheet.of(answer(two), Rules(), [])
    loss = "host lab1 (2 CPUs), load 0.2 to 9.6, steal up to 3.0 %"
    assert loss in dict(made.facts)["environment"]


@pytest.mark.parametrize("bad", ["busy", [], {"node": 1}, {"node": "a", "cpus": "b"}])
def test_a_load_that_cannot_be_read_is_left_out(two: Path, bad: object) -> None:
    (two / "machines/1.json").write_text(json.dumps({"host": bad}))
    assert "host" not in dict(wording.facts(answer(two)))


@pytest.mark.parametrize("others", [True, False])
def test_a_volatile_cache_is_untested_unless_every_cut_had_one(
    two: Path, others: bool
) -> None:
    cut(two, "quick", lost_synced=0, volatile=True)
    cut(two, "quick", lost_synced=0, number=2, volatile=others)
    untested = "; ".join(sheet.untested(answer(two)))
    assert ("volatile cache" in untested) == (not others)
    said = durability.verdict(answer(two).comparison.kept)
    assert said.endswith("in 2 cuts of a volatile cache." if others else "in 2 cuts.")


def test_a_cut_of_before_is_read(two: Path) -> None:
    cut(two, "quick", lost_synced=0)
    (two / "crash/quick/1/quick.json").rename(two / "crash/old.json")
    (two / "crash/old.json").rename(two / "crash/quick.json")
    assert [kept.cuts for kept in open_comparison(two).kept] == [1]


@pytest.mark.parametrize(
    "bad", ["", "{}", "[]", '{"plain": {}, "synced": {}}', "[" * 9]
)
def test_what_a_cut_left_and_cannot_be_read_is_not_shown(two: Path, bad: str) -> None:
    cut(two, "slow", lost_synced=0)
    (two / "crash/quick.json").write_text(bad)
    (two / "crash/quick").mkdir()
    assert [one.option for one in open_comparison(two).kept] == ["slow"]


def test_options_are_compared_where_all_hold_the_load(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    half = [steady(*[1.0] * 50) for _ in range(4)]
    behind = [steady(*[1.0 + at] * 100, undone=12) for at in range(4)]
    wanted = {"slow": behind, "quick": QUICK}
    path = comparison(tmp_path / "c", wanted, {50: {"slow": half, "quick": half}})
    assert main(["compare-options", str(path), "--write"]) == 0
    said = capsys.readouterr().out
    at = said.splitlines().index("load   requests/s  held by  overloaded")
    assert said.splitlines()[at : at + 4] == [
        "load   requests/s  held by  overloaded",
        "50 %   50.0        2 of 2   -",
        "100 %  100         1 of 2   slow (did 88.0 %)",
        "The numbers below are at 50 %, a load that every option held.",
    ]
    assert "by share of requests over 65 ms at 50 % of the load:" in said
    assert "it is overloaded" not in said
    found = json.loads((path / "compare.json").read_text())
    assert found["load"] == 50
    assert [row["beyond"] for row in found["loads"]] == [
        {},
        {"slow": pytest.approx(0.88)},
    ]
    assert main(["compare-options", str(path), "--load", "100"]) == 0
    said = capsys.readouterr().out
    assert (
        "The numbers below are at 100 %, a load that some option did not hold." in said
    )
    assert "slow did 88.0 % of the requested load: it is overloaded" in said
    assert main(["compare-options", str(path), "--load", "70"]) == 2
    assert (
        "--load 70: there are counted runs at 50, 100 only" in capsys.readouterr().err
    )


def test_what_does_not_count_at_another_load_is_said(tmp_path: Path) -> None:
    path = comparison(tmp_path / "c", {"quick": QUICK}, {50: {"quick": [QUICK[0]]}})
    caveats = list(wording.caveats(answer(path)))
    assert "at 50 % of the load 7 of 8 runs do not count: not run" in caveats


def test_a_run_that_ends_amid_a_stall_is_not_beyond_the_load(tmp_path: Path) -> None:
    one = [*QUICK[:3], steady(*[1.0] * 100, undone=12)]
    path = comparison(tmp_path / "c", {"quick": one})
    assert open_comparison(path).level.beyond == {}


def test_what_is_true_of_every_run_is_said_once(two: Path) -> None:
    for file in two.glob("*/*/writer.jsonl"):
        file.write_text(file.read_text().replace("late_ns", "early_ns"))
    caveats = [one for one in wording.caveats(answer(two)) if "schedule" in one]
    loss = "every run: the client did not record whether it kept its schedule"
    assert caveats == [loss]


def test_where_no_load_is_held_the_lowest_is_compared(tmp_path: Path) -> None:
    behind = [steady(*[1.0] * 100, undone=12)]
    path = comparison(tmp_path / "c", {"slow": behind}, {50: {"slow": behind}})
    assert open_comparison(path).level.load == 50


def test_one_load_has_no_table_of_its_own(two: Path) -> None:
    assert wording.loads(answer(two)) == []
    assert not [line for line in wording.caveats(answer(two)) if "overloaded" in line]


@pytest.mark.parametrize(("by", "best"), [("throughput", None), ("p50", "one")])
def test_another_number_may_decide(tmp_path: Path, by: str, best: str | None) -> None:
    one = [steady(1.0, 1.0, 900.0) for _ in range(4)]
    other = [steady(2.0, 2.0, 3.0) for _ in range(4)]
    path = comparison(tmp_path / "c", {"one": one, "other": other})
    if best is None:
        assert main(["compare-options", str(path), "--by", by]) == 2
    else:
        assert answer(path, by).ranking[0].option.name == best
        assert answer(path).ranking[0].option.name == "other"


def test_by_has_the_choices_that_the_command_line_offers() -> None:
    from writestall.cli.compare_options import BY

    assert set(ranking.CHOICES) == set(BY)


@pytest.mark.parametrize(
    ("slo", "ns"), [("65ms", 65 * MS), ("1.5s", 1500 * MS), ("200us", MS // 5)]
)
def test_an_objective_has_a_unit(slo: str, ns: int) -> None:
    assert ranking.parse_slo(slo) == ns


@pytest.mark.parametrize("slo", ["65", "65 ms", "ms", "-1ms", "1e3ms", "0ms", "65min"])
def test_a_bad_objective_gets_one_line(
    two: Path, slo: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare-options", str(two), f"--slo={slo}"]) == 2
    said = capsys.readouterr().err
    assert said == (
        f"writestall: --slo {slo}: want a time with its unit, like 65ms or 1.5s\n"
    )


@pytest.mark.parametrize("plan", [None, "", "[]", "{}", '{"format": 9}', "[" * 10_000])
def test_a_folder_that_is_no_comparison_gets_one_line(
    tmp_path: Path, plan: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    if plan is not None:
        (tmp_path / "plan.json").write_text(plan)
    assert main(["compare-options", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"writestall: {tmp_path}/plan.json: ")
    assert said.count("\n") == 1


def test_a_comparison_in_which_nothing_counts_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = comparison(tmp_path / "c", {"gone": [None, None]})
    assert main(["compare-options", str(path)]) == 2
    assert "no run counts; gone round 1: not run" in capsys.readouterr().err


def test_text_and_json_have_the_same_numbers(
    two: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare-options", str(two), "--write"]) == 0
    text = capsys.readouterr().out
    assert (two / "compare.txt").read_text() == text
    assert text.splitlines()[0].endswith(": clearly lower quick.")
    found = json.loads((two / "compare.json").read_text())
    assert [row["name"] for row in found["options"]] == ["quick", "slow"]
    worst = found["options"][1]["numbers"]["request_max_ns"]
    assert f"{worst['value'] / MS:.0f} ms" in text
    assert found["pairs"][0]["clear"] is True
    assert found["facts"]["accelerator"] == "tcg"
    assert "accelerator: tcg" in text
