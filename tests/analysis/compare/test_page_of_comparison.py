# SPDX-License-Identifier: GPL-2.0-only
"""This test will read a comparison's page, also with hostile names in it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import webpage
from comparisons import DURATION_S, QUICK, SLOW, Made, comparison, cut, steady
from hostile import NAMES
from writestall.cli.main import main
from writestall.compare.folder import open_comparison
from writestall.compare.side_by_side import side_by_side

SLO_NS = 65_000_000


def made(folder: Path, options: dict[str, Sequence[Made | None]], *rules: str) -> Path:
    """The page of a comparison, made by the command line."""
    path = comparison(folder, options)
    page = folder / "page.html"
    main(["compare-options", str(path), "--html", str(page), *rules])
    return page


@pytest.fixture
def page(tmp_path: Path) -> webpage.Element:
    path = made(tmp_path / "c", {"slow": SLOW, "quick": QUICK, "gone": [None]})
    return webpage.parsed(path.read_text("utf-8"))


def test_the_answer_is_the_headline(page: webpage.Element) -> None:
    said = page.one("h1", id="answer").words
    assert said.endswith(": clearly lower quick.")
    assert page.one("head").one("title").words == "writestall: file systems on slow"


def test_the_table_has_every_option_the_best_first(page: webpage.Element) -> None:
    table = page.one("table", id="options")
    (body,) = table.all("tbody")
    rows = list(body.all("tr"))
    names = [next(row.all("th")).inner[0] for row in rows]
    assert names == ["quick", "slow", "gone"]
    cells = [cell.words for cell in rows[1].all("td")]
    assert any("journal_buffer" in cell for cell in cells)
    assert any(cell.startswith("904 ms") for cell in cells)
    assert "0 of 8" in rows[2].words


def test_what_stalled_has_a_flame_graph_of_all_its_runs(page: webpage.Element) -> None:
    (graph,) = (
        one
        for one in page.all("svg")
        if one.attributes.get("aria-label", "").startswith("flame graph")
    )
    assert graph.attributes["aria-label"] == "flame graph of slow"
    boxes = [one.words for one in graph.all("title")]
    # build.cascade() stalls for 1 s, once in each of eight runs.
    assert boxes[0] == "stalled writes: 8000 ms, 100.0 %"
    assert any(box.startswith("do_get_write_access: ") for box in boxes)
    assert "No write stalled on quick." in page.words
    assert page.words.count("8000 ms of stalls in 8 runs") == 1


def test_what_the_disk_wrote_is_told(tmp_path: Path) -> None:
    """Per request, over the baseline's; 400 requests of a run are done."""

    def wrote(count: int) -> list[Made]:
        more = {"disk_io": {"writes": 9, "written_bytes": count, "flushes": 8}}
        return [Made([[1.0] * 100] * DURATION_S, more=more)] * 3

    options: dict[str, Sequence[Made | None]]
    options = {"plain": wrote(400_000), "twice": wrote(800_000), "old": [steady(1.0)]}
    root = webpage.parsed(made(tmp_path / "c", options).read_text("utf-8"))
    told = [one.words for one in root.all("tr", class_="why")]
    assert sorted(told) == [
        "the disk wrote 1,000 B a request",
        "the disk wrote 2,000 B a request (2.00x)",
    ]
    heads = [one.words for one in root.one("table", id="options").all("th")]
    assert {"written B/request", "flushes/s"} <= set(heads)


def test_several_loads_have_a_table(page: webpage.Element, tmp_path: Path) -> None:
    assert not list(page.all("table", id="loads"))
    behind = [steady(*[1.0] * 100, undone=12)]
    half = {50: {"slow": [steady(*[1.0] * 50)]}}
    path = comparison(tmp_path / "loads", {"slow": behind}, half)
    file = tmp_path / "loads.html"
    assert main(["compare-options", str(path), "--html", str(file)]) == 0
    table = webpage.parsed(file.read_text("utf-8")).one("table", id="loads")
    rows = [[cell.words for cell in row.all("td")] for row in table.all("tr")]
    assert rows[1:] == [["50.0", "1 of 1", "-"], ["100", "0 of 1", "slow (did 88.0 %)"]]


def test_the_page_asks_for_nothing(page: webpage.Element) -> None:
    for element in page.everything():
        assert element.tag not in ("link", "img", "iframe", "object", "base")
        assert not {"src", "href", "style", "onclick"} & set(element.attributes)
    metas = page.all("meta")
    policies = [one.attributes.get("content", "") for one in metas]
    assert any(policy.startswith("default-src 'none'") for policy in policies)


def test_maps_share_their_scale(tmp_path: Path) -> None:
    path = comparison(tmp_path / "c", {"slow": SLOW, "quick": QUICK})
    options = open_comparison(path).options
    both = side_by_side(options, DURATION_S, SLO_NS)
    assert [one.name for one in both.maps] == ["slow", "quick"]
    for one, option in zip(both.maps, options, strict=True):
        alone = side_by_side([option], DURATION_S, SLO_NS)
        assert alone.height <= both.height
        assert {cell.x for cell in alone.maps[0].cells} == {
            cell.x for cell in one.cells
        }
        assert all(0 <= cell.y < both.height for cell in one.cells)
        assert all(1 <= cell.shade <= 4 for cell in one.cells)
    assert side_by_side(options[1:], DURATION_S, SLO_NS).height < both.height
    slow, quick = both.maps
    assert any(cell.over for cell in slow.cells)
    assert not any(cell.over for cell in quick.cells)
    assert both.slo_y is not None
    for cell in slow.cells:
        assert cell.over == (cell.y + both.row_px <= both.slo_y)


def test_what_a_cut_left_is_a_table(tmp_path: Path) -> None:
    path = comparison(tmp_path / "c", {"quick": QUICK, "slow": SLOW})
    target = tmp_path / "page.html"
    show = ["compare-options", str(path), "--html", str(target)]
    assert main(show) == 0
    assert "h-kept" not in target.read_text("utf-8")
    cut(path, "quick", lost_synced=7, damage="e2fsck (exit 4)")
    assert main(show) == 0
    root = webpage.parsed(target.read_text("utf-8"))
    table = root.one("table", id="kept")
    cells = [cell.words for cell in table.one("tbody").all("td")]
    assert cells[2:] == ["1", "90", "7", "7", "95", "11", "1", "12.5 s"]
    assert cells[:2] == ["1 of 1", "2.5 to 100 %"]
    said = "Lost though fsync(2) had confirmed it: quick lost 7 of 90 records"
    assert said in root.one("h1", id="answer").words
    decision = root.one("table", id="decision").words
    assert "1 of 1 cuts (2.5 to 100 %), 1 damaged" in decision


def test_a_map_of_one_latency_is_a_map(tmp_path: Path) -> None:
    path = comparison(tmp_path / "c", {"one": [steady(1.0)]})
    found = side_by_side(open_comparison(path).options, DURATION_S, SLO_NS)
    assert (found.height, found.slo_y) == (found.row_px, None)
    assert len(found.maps[0].cells) == DURATION_S


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    """Option names cannot be hostile, but the description in a profile can."""
    path = comparison(tmp_path / "c", {"quick": QUICK, "slow": SLOW})
    plan = json.loads((path / "plan.json").read_text())
    hostile = "".join(NAMES)
    plan["profile"] = {"name": hostile, "purpose": hostile, "provenance": hostile}
    for row in plan["options"]:
        row["what"], row["caveat"] = hostile, hostile
    (path / "plan.json").write_text(json.dumps(plan))
    target = tmp_path / "page.html"
    assert main(["compare-options", str(path), "--html", str(target)]) == 0
    root = webpage.parsed(target.read_text("utf-8"))
    assert len(list(root.all("script"))) == 1
    assert not list(root.all("img"))
