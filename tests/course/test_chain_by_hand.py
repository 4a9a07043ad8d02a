# SPDX-License-Identifier: GPL-2.0-only
"""This test will answer with chains that were made by hand, right and wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import answers_of
from writestall.cli.main import main
from writestall.course import edges, tables, work
from writestall.course.work import Handed

Capture = pytest.CaptureFixture[str]
LABS = [lab.number for lab in tables.labs()]
PAGE_LOCK = (
    "page_lock=kworker/u8:0/12,journal_buffer=jbd2/vdb-8/160,device_io=vdb".split(",")
)
# What is wrong with an edge, by the chain that is wrong in it: its place, and its line.
WRONG = {
    (0, "journal_buffer=kworker/u8:0/12"): "another wait",
    (0, "page_lock=jbd2/vdb-8/160"): "the wait is right, who held it is not",
    (0, "page_lock=jbd2"): "which thread is that",
    (0, "page_lock=none"): "the wait is right, who held it is not",
    (1, "journal_buffer=latwriter/170"): "the wait is right, who held it is not",
    (2, "device_io=sda"): "the wait is right, who held it is not",
    (2, ""): "the chain goes on",
}


def judged(*chain: str) -> list[str]:
    facts = answers_of.of_seed(2, "")
    return edges.judge(facts, ",".join(one for one in chain if one))


def test_a_chain_is_judged_edge_by_edge() -> None:
    assert judged(*PAGE_LOCK) == ["", "", ""]
    assert judged(*PAGE_LOCK[:2], "device_io") == ["", "", ""]
    for (place, edge), printed in WRONG.items():
        chain = [*PAGE_LOCK[:place], edge, *PAGE_LOCK[place + 1 :]]
        found = judged(*chain)
        assert found[place].startswith(printed), (edge, found)
        assert [bool(line) for line in found].count(True) == 1
    more = judged(*PAGE_LOCK, "page_lock=none")
    assert more[:3] == ["", "", ""] and more[3].startswith("the chain has ended")


@pytest.mark.parametrize("number", LABS)
def test_the_chain_of_a_mystery_is_right_and_ends_at_its_root(number: int) -> None:
    for seed in answers_of.SEEDS:
        facts = answers_of.of_seed(number, seed)
        text = edges.text(facts)
        assert not any(edges.judge(facts, text)), (seed, text)
        assert facts.path[0].cls == facts.wait.cls


@pytest.mark.parametrize("seed", answers_of.SEEDS[:4])
def test_nothing_beside_a_mystery_names_its_cause(
    seed: str, tmp_path: Path, capsys: Capture
) -> None:
    words = ["2", "--out", str(tmp_path)]
    assert main(["course", "start", *words, "--seed", seed, "--recorded"]) == 0
    run = work.folder(tmp_path, 2) / work.LATEST
    names = {path.name for path in run.rglob("*")}
    assert not names & {"truth.jsonl", "throttled.jsonl"}
    manifest = json.loads((run / "manifest.json").read_text())
    scenario = manifest["scenario"]
    assert scenario["name"] == "mystery"
    assert not {"inject", "expect", "purpose"} & set(scenario)
    assert set(manifest["injector"]) == {"name"}
    assert "submitter" not in json.dumps(manifest)
    printed = capsys.readouterr().out
    facts = answers_of.of_seed(2, seed)
    assert f"{facts.write.comm}/{facts.write.tid}" in printed
    assert str(facts.write.t_ns) in printed and "events/" in printed


def test_a_chain_is_handed_in_and_graded(tmp_path: Path, capsys: Capture) -> None:
    facts = answers_of.of_seed(2, "anna")
    good = answers_of.right_of(2, "anna")
    words = ["2", "--out", str(tmp_path)]
    said = ["--holder", good.holder, "--root", good.root, "--ms", str(good.ms)]
    assert main(["course", "start", *words, "--seed", "anna", "--recorded"]) == 0
    answer = ["course", "answer", *words, *said, "--chain"]
    assert main([*answer, "other=none"]) == 1
    printed = capsys.readouterr().out
    assert "edge 1  another wait" in printed and "passed" not in printed
    assert main([*answer, edges.text(facts)]) == 0
    assert "edge 1  right" in capsys.readouterr().out
    kept = work.read(work.folder(tmp_path, 2) / work.ANSWER, Handed)
    assert kept.chain == edges.text(facts)
    assert main([*answer, "other=none"]) == 1
    assert work.read(work.folder(tmp_path, 2) / work.ANSWER, Handed) == kept
    capsys.readouterr()
    assert main(["course", "grade", str(tmp_path), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["marks"]["chain"] == "right" and row["points"] == 4


@pytest.mark.parametrize("chain", ["page_lock", "=a", "page_lock=a,,b=c", "nothing=a"])
def test_what_is_no_chain_is_reported_in_one_line(
    chain: str, tmp_path: Path, capsys: Capture
) -> None:
    words = "answer 2 --holder a --root b --ms 1".split()
    status = main(["course", *words, "--chain", chain, "--out", str(tmp_path)])
    shown = capsys.readouterr().err
    assert status == 2 and len(shown.splitlines()) == 1
    assert ("--chain" in shown) != (chain == "page_lock")
