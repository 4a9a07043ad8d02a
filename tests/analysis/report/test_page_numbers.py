# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare the page's numbers with those of summary.json and the text.

The page is parsed, not looked at: test_report_browser.py does that.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hdrh.histogram import HdrHistogram

import build
import webpage
from golden_runs import NAMES, unpacked
from webpage import Element
from writestall.cli.main import main
from writestall_base.units import ms, percent

Capture = pytest.CaptureFixture[str]


@pytest.fixture(params=NAMES)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Each recorded run in turn, explained."""
    path = unpacked(request.param, tmp_path)
    assert main(["explain", str(path), "--top", "99"]) == 0
    return path


def summary(run: Path) -> dict[str, Any]:
    """The summary that explain wrote."""
    return dict(json.loads((run / "summary.json").read_text()))


def numbers(page: Element) -> dict[str, str]:
    """The row of numbers below the answer."""
    strip = page.one("dl", class_="numbers")
    names = [term.words for term in strip.all("dt")]
    return dict(zip(names, [value.words for value in strip.all("dd")], strict=True))


def rows(table: Element) -> list[list[str]]:
    """The cells of a table's body, heads included."""
    return [
        [cell.words for cell in row.inner if isinstance(cell, Element)]
        for row in table.one("tbody").all("tr")
    ]


def test_numbers_are_those_of_the_summary(run: Path) -> None:
    """The row below the answer."""
    shown, known = numbers(webpage.read(run)), summary(run)
    assert shown == {
        "writes": str(known["writes"]),
        "p50": ms(known["p50_ns"]),
        "p99": ms(known["p99_ns"]),
        "p99.9": ms(known["p999_ns"]),
        "max": ms(known["max_ns"]),
        "stalls": str(known["stalls"]),
        "total stall time": ms(known["stall_ns"]),
        "explained": percent(known["share_explained"]),
        "lost events": "0",
    }


def test_shares_are_those_of_the_summary(run: Path) -> None:
    """Both tables, row by row, and both add up to the stall time."""
    page, known = webpage.read(run), summary(run)
    for key in ("class", "root"):
        sums = known[f"stall_ns_by_{key}"]
        assert sum(sums.values()) == known["stall_ns"]
        wanted = [
            [name, ms(ns), percent(ns, known["stall_ns"]), ""]
            for name, ns in sums.items()
        ]
        assert rows(page.one("table", id=f"by-{key}")) == wanted


def test_answer_and_chains_are_those_of_the_text(run: Path, capsys: Capture) -> None:
    """The sentence, and every line of every tree in its order."""
    capsys.readouterr()
    assert main(["explain", str(run), "--top", "99"]) == 0
    text = capsys.readouterr().out
    page = webpage.read(run)
    assert page.one("h1").words == text.splitlines()[0]
    trees = [tree.text.strip("\n") for tree in page.all("pre", class_="tree")]
    assert trees and all(tree in text for tree in trees)
    assert len(trees) == text.count("\nexplained ")


def test_the_percentile_table_is_the_summary(run: Path) -> None:
    """The corrected row has the summary's numbers."""
    section = webpage.read(run).one("section", **{"aria-labelledby": "h-curve"})
    heads = [head.words for head in section.one("thead").all("th")]
    (corrected,) = [row for row in rows(section) if row[0] == "corrected"]
    shown = dict(zip(heads, corrected, strict=True))
    known = summary(run)
    assert shown["p50"] == ms(known["p50_ns"])
    assert shown["p99"] == ms(known["p99_ns"])
    assert shown["p99.9"] == ms(known["p999_ns"])
    assert shown["max"] == ms(known["max_ns"])


def test_every_write_is_in_the_map(run: Path) -> None:
    """Stalled writes by cell add up, in the picture and in its record."""
    page, known = webpage.read(run), summary(run)
    cells = list(page.all("g", class_="cell"))
    assert sum(int(cell.one("text").words) for cell in cells) == known["stalls"]
    record = json.loads(page.one("script", type="application/json").text)
    assert sum(map(len, record["cells"].values())) == known["stalls"]
    assert set(record["cells"]) == {cell.attributes["data-cell"] for cell in cells}
    titles = " ".join(title.words for title in page.one("svg", id="heat").all("title"))
    writes = re.findall(r"(\d+) writes? by the client's clock", titles)
    assert sum(map(int, writes)) == known["writes"]


def test_the_flame_graph_is_all_the_stall_time(run: Path) -> None:
    """Boxes lie within the box above, and the first is the whole."""
    page = webpage.read(run)
    boxes = list(page.all("svg", class_="box"))
    whole = ms(summary(run)["stall_ns"])
    assert boxes[0].attributes["aria-label"] == f"stalled writes: {whole}, 100.0 %"
    by_row: dict[float, list[tuple[float, float]]] = {}
    for box in boxes:
        x, width = (float(box.attributes[key].rstrip("%")) for key in ("x", "width"))
        y = float(box.attributes["y"])
        by_row.setdefault(y, []).append((x, x + width))
        if y:
            above = by_row[y - 18]
            assert any(a - 0.01 <= x and x + width <= b + 0.01 for a, b in above)
    roots = [
        b for b in boxes if b.attributes["aria-label"].startswith("device_io vdb:")
    ]
    assert roots


def test_the_timeline_names_writer_journal_and_disk(run: Path) -> None:
    """The lanes of the slowest write, and an arrow for every wait that has a holder."""
    picture = next(webpage.read(run).all("svg", class_="timeline"))
    lanes = [lane.words for lane in picture.all("text", class_="lane")]
    assert lanes[0].startswith("writer latwriter/")
    assert lanes[-1] == "disk vdb"
    assert any(lane.startswith("journal jbd2/vdb-8/") for lane in lanes)
    arrows = [arrow.words for arrow in picture.all("line", class_="arrow")]
    assert any("waits for jbd2/vdb-8 (inferred)" in shown for shown in arrows)
    assert any("jbd2/vdb-8 waits for vdb (seen)" in shown for shown in arrows)


def test_an_io_that_nobody_holds_is_reported_once(tmp_path: Path) -> None:
    """The wait is in the writer's lane, its I/O in the disk's; one stack is shown."""
    events = build.Events()
    irq = (0, "swapper/0")
    events.block(300, 0, 100, "page_writeback", irq, "completion", ctx="hardirq")
    events.write(300, 0, 100, 100)
    page = webpage.read(build.run_dir(tmp_path / "run", events.end()))
    (picture,) = page.all("svg", class_="timeline")
    lanes = [lane.words for lane in picture.all("text", class_="lane")]
    assert lanes == ["writer latwriter/300", "disk vdb"]
    bars = [
        bar.one("text").words for bar in picture.all("svg") if list(bar.all("rect"))
    ]
    assert bars == ["page_writeback 100 ms", "100 ms"]
    names = [box.one("text").words for box in page.all("svg", class_="box")]
    assert names[-2:] == ["page_writeback", "device_io vdb"]
    assert names.count("folio_wait_writeback") == 1


def test_a_run_without_stalls_says_so(tmp_path: Path) -> None:
    """A clear sentence, and no empty picture."""
    run = build.run_dir(tmp_path / "run", build.Events().end())
    page = webpage.read(run)
    assert page.one("h1").words == "No write stalled for 50.0 ms or more."
    assert "explained" not in numbers(page)
    assert not list(page.all("svg", class_="box"))
    assert not list(page.all("section", **{"aria-labelledby": "h-commits"}))


def test_an_empty_run_gets_a_page_and_a_status(tmp_path: Path) -> None:
    """Nothing is readable: the page names the file, and the exit status is not 0."""
    run = build.run_dir(tmp_path / "run", build.cascade())
    (run / "events/stap.jsonl").write_text("")
    page = webpage.read(run, status=2)
    assert page.one("h1").words.startswith("Nothing to explain: ")
    assert "stap.jsonl: empty" in page.one("h1").words
    assert "No event was lost" not in page.text


def test_a_truncated_run_is_reported_as_far_as_it_goes(tmp_path: Path) -> None:
    """A truncated line: one chain, and a note of what is missing."""
    run = build.run_dir(tmp_path / "run", build.cascade(), status="running")
    events = run / "events/stap.jsonl"
    events.write_text(events.read_text()[:-40])
    page = webpage.read(run)
    notes = " ".join(note.words for note in page.all("p", class_="note"))
    assert "the run is cut_off, not complete" in notes
    assert "no end line: the tracer was cut off" in notes
    assert list(page.all("pre", class_="tree"))


def test_losses_stand_above_the_answer(tmp_path: Path) -> None:
    """A page made from incomplete events must not look like a complete one."""
    events = build.cascade()
    events.lost(7)
    page = webpage.read(build.run_dir(tmp_path / "run", events.end()))
    lost = [line.words for line in page.one("header").all("p", class_="lost")]
    assert lost == ["LOST: 7 events (too slow); what follows was built on the rest"]


def test_a_write_of_no_length_does_no_harm(tmp_path: Path) -> None:
    """Beside a write that did stall."""
    events = build.cascade()
    events.write(301, 2000, 0, 0)
    page = webpage.read(build.run_dir(tmp_path / "run", events.end()))
    assert page.one("h1").words.startswith("2 writes stalled")


def commit(at_ms: float, *phases_ms: float) -> dict[str, Any]:
    """One event of journal_commits."""
    phases = [int(phase * build.MS) for phase in phases_ms]
    names = ("locking_ns", "flushing_ns", "logging_ns", "finishing_ns")
    return {
        "ev": "commit",
        "t_ns": build.START_NS + int(at_ms * build.MS),
        "dur_ns": sum(phases),
        "tid": 253,
        "pid": 253,
        "comm": "jbd2/vdb-8",
        "dev": "254:16",
        "transaction": 9,
        "handles": 10,
        "blocks": 6,
        "blocks_logged": 8,
    } | dict(zip(names, phases, strict=True))


@pytest.mark.parametrize("file", ["stap.jsonl", "journal_commits.jsonl"])
def test_commits_stand_beside_stalls(tmp_path: Path, file: str) -> None:
    """In the same stream, or in a separate file: phases, and the stalls during each."""
    run = build.run_dir(tmp_path / "run", build.cascade())
    with (run / "events" / file).open("a") as lines:
        lines.write(
            build.json_lines([commit(-50, 100, 0, 900, 50), commit(5000, 1, 0, 0, 0)])
        )
    section = webpage.read(run).one("section", **{"aria-labelledby": "h-commits"})
    first, second = rows(next(section.all("table")))
    assert first[1:3] == ["9", "1050 ms"]
    assert sorted(first[3:7]) == sorted(["100 ms", "0.00 ms", "900 ms", "50.0 ms"])
    assert first[-1] == "1, 1000 ms" and second[-1] == "0"
    heads = [head.words for head in section.one("thead").all("th")]
    assert first[heads.index("logging")] == "900 ms"


def test_client_and_kernel_are_compared(tmp_path: Path) -> None:
    """A write that both measured, one that only one of them did, and a task without a
    record."""
    client = [
        {
            "ev": "client_write",
            "seq": at,
            "intended_ns": build.START_NS + at * build.MS - 5 * build.MS,
            "t_ns": build.START_NS + at * build.MS,
            "dur_ns": 1003 * build.MS,
            "tid": 300,
            "path": "lab/gc.log",
            "ret": 200,
        }
        for at in (0, 9000)
    ]
    events = build.cascade()
    events.write(300, 3000, 80, 80)
    events.write(555, 3000, 80, 80)
    run = build.run_dir(tmp_path / "run", events.end(), client=client)
    section = webpage.read(run).one("section", **{"aria-labelledby": "h-views"})
    both, kernel, alone = rows(section)
    assert both[2:] == ["1008 ms", "1003 ms", "1000 ms", "3.00 ms"]
    assert kernel[2:] == ["-", "not seen", "80.0 ms", "-"]
    assert alone[2:] == ["1008 ms", "1003 ms", "not seen", "-"]
    assert "1 slow write seen by both, at most 3.00 ms apart" in section.words
    assert "1 more write of tasks without a record" in section.words


def test_both_curves_are_drawn(tmp_path: Path) -> None:
    """Corrected beside uncorrected, each with its numbers."""
    run = build.run_dir(tmp_path / "run", build.cascade())
    for name, ns in (("writer", 9 * build.MS), ("writer-service", 2 * build.MS)):
        histogram = HdrHistogram(1, 10**14, 3)
        histogram.record_value(ns, 1000)
        packed = histogram.encode().decode()
        (run / f"{name}.hlog").write_text(f"0.000,1.000,9.0,{packed}\n")
    section = webpage.read(run).one("section", **{"aria-labelledby": "h-curve"})
    shown = {row[0]: row[1] for row in rows(section)}
    assert shown == {"corrected": "9.00 ms", "uncorrected": "2.00 ms"}
    assert len(list(section.all("polyline"))) == 2


@pytest.mark.slow
def test_ten_thousand_stalls_fit_three_megabytes(tmp_path: Path) -> None:
    """As large as real chains, many writers and files; no cell lacks its writes."""
    events = build.Events()
    jbd2, flusher = (253, "jbd2/vdb-8"), (77, "kworker/u8:3")
    for number in range(10_000):
        at, dur, tid = number * 4000, 60 + number * 7919 % 3000, 300 + number % 7
        for part in range(6):
            start = at + dur * part / 6
            irq = (0, "swapper/0")
            events.block(253, start, dur / 6.1, "jbd2_submit", irq, comm=jbd2[1])
        events.block(77, at, dur * 0.9, "flusher", jbd2, "jbd2_wakes", comm=flusher[1])
        events.block(tid, at, dur / 2, "journal_buffer", jbd2, "jbd2_wakes")
        events.block(tid, at + dur / 2, dur * 0.4, "page_lock", flusher, "unlocks")
        path = f"logs-{number % 40}/{number:020}.log"
        events.write(tid, at, dur, dur * 0.9, path=path)
    run = build.run_dir(tmp_path / "run", events.end())
    page = webpage.read(run)
    assert (run / "report.html").stat().st_size <= 3 * 2**20
    record = json.loads(page.one("script", type="application/json").text)
    cells = {cell.attributes["data-cell"] for cell in page.all("g", class_="cell")}
    assert cells == set(record["cells"])
    views = {row[-1] for cells in record["cells"].values() for row in cells}
    assert views == set(range(-1, len(list(page.all("details")))))


def test_the_page_goes_where_it_is_wanted(tmp_path: Path, capsys: Capture) -> None:
    """-o FILE; a missing folder is one line and a status."""
    run = build.run_dir(tmp_path / "run", build.cascade())
    page = tmp_path / "page.html"
    assert main(["report", str(run), "-o", str(page)]) == 0
    assert capsys.readouterr().out == f"{page}\n"
    assert page.exists() and not (run / "report.html").exists()
    assert main(["report", str(run), "-o", str(tmp_path / "no/page.html")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


TREE = re.compile(r"\+- (\d+) ms (\w+)  .*held by")


def test_the_picture_has_the_numbers_of_the_text(run: Path) -> None:
    """Every wait of the slowest chain for a holder, to the ms."""
    convoy = next(webpage.read(run).one("div", id="convoys").all("details"))
    text = convoy.one("pre", class_="tree").text
    picture = convoy.one("svg", class_="timeline")
    drawn = {title.words.partition(" · ")[0] for title in picture.all("title")}
    shown = {f"{cls} {took} ms" for took, cls in TREE.findall(text)}
    assert shown
    assert shown <= drawn
