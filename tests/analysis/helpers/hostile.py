# SPDX-License-Identifier: GPL-2.0-only
"""hostile: make a run with hostile names, and check the elements of a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hdrh.histogram import HdrHistogram

import build
from webpage import Element
from writestall.verdict.episodes import SERIES
from writestall.verdict.replayed_calls import REPORT

NAMES = (
    "</script><script>window.pwned=1</script>",
    '"><img src=x onerror="window.pwned=1">',
    "<svg/onload=window.pwned=1>",
    "{{ 7 * 7 }}{% raw %}",
    "'-->]]></style></title><!--",
    "&lt;b&gt; &#x3c;script&#x3e;",
    "javascript:window.pwned=1",
    "new\nline\ttab\x1b[31m\u2028\u2029\u202egnp.exe",
)
# All elements and attributes that our pages consist of.
TAGS = set(
    """html head meta title style body header main footer section h1 h2 p dl dt dd div
    ul li b span code pre details summary button label input output table caption thead
    tbody tr th td script svg defs marker pattern path circle rect line polyline g text
    tspan""".split()
)


def _commit(name: str) -> dict[str, Any]:
    """A commit during the write."""
    phases = ("locking_ns", "flushing_ns", "logging_ns", "finishing_ns")
    return {
        "ev": "commit",
        "t_ns": build.START_NS,
        "dur_ns": 4 * build.MS,
        "tid": 253,
        "pid": 253,
        "comm": name,
        "dev": "254:16",
        "transaction": 9,
        "handles": 10,
        "blocks": 6,
        "blocks_logged": 8,
    } | dict.fromkeys(phases, build.MS)


def _add_application(run: Path, name: str) -> None:
    """A request of that name during the write, and a log of latencies."""
    row = {"t_ns": build.START_NS, "dur_ns": 1000 * build.MS, "tid": 300, "what": name}
    folder = run / "application/sqlite-wal"
    folder.mkdir(parents=True)
    (folder / "requests.jsonl").write_text(build.json_lines([row]))
    histogram = HdrHistogram(1, 10**14, 3)
    histogram.record_value(build.MS)
    packed = histogram.encode().decode()
    (run / "writer.hlog").write_text(f"0.000,1.000,1.0,{packed}\n")


def _add_replay(run: Path, name: str) -> None:
    """What it replays, and what came of its calls."""
    disk = {"dev": "8:0", "name": name, "kinds": []}
    (run / SERIES).write_text(json.dumps({"disks": [disk]}))
    side = dict.fromkeys(("stalls", "stalled_ns", "p999_ns", "max_ns"), 10**10)
    row = {"operation": name, "calls": 9, "made": 9, "failed": 0}
    row |= {"recorded": side, "replayed": side}
    times = dict.fromkeys(("recorded_ns", "replayed_ns"), 10**9)
    report = {"calls": 9, "made": 9, "operations": [row]} | times
    (run / REPORT).parent.mkdir(parents=True)
    (run / REPORT).write_text(json.dumps(report))


def hostile_run(path: Path, name: str) -> Path:
    """A run in which every name is this one, and whose page has every section."""
    events = build.Events()
    irq = (0, "swapper/0")
    events.block(253, 0, 990, "jbd2_submit", irq, ctx="softirq", comm=name)
    events.block(300, 0, 990, "journal_buffer", (253, name), "jbd2_wakes", comm=name)
    events.write(300, 0, 1000, 990, path=name, comm=name, call=name)
    events.rows.append(_commit(name))
    events.lost(1, why=name)
    client = {
        "ev": "client_write",
        "t_ns": build.START_NS,
        "dur_ns": 1000 * build.MS,
        "tid": 300,
        "path": name,
    }
    run = build.run_dir(
        path,
        events.end(),
        client=[client],
        status="failed",
        reason=name,
        kernel=name,
        device={"name": name, "dev": "254:16"},
        scenario={"name": name, "replayed": name},
        filesystem={"type": name, "mount_options": name},
        steps=[{"name": "arm", "start_ns": build.START_NS, "dur_ns": build.MS}],
        window={"start_ns": build.START_NS, "end_ns": build.START_NS + 8 * 10**9},
    )
    _add_application(run, name)
    _add_replay(run, name)
    return run


def held_to_our_own(page: Element) -> None:
    """No element, handler or address that is not ours."""
    for element in page.everything():
        assert element.tag in TAGS, element.tag
        for name, value in element.attributes.items():
            assert not name.startswith("on"), name
            refused = ("src", "href", "style", "srcset", "action")
            assert name not in refused, f"<{element.tag} {name}>: the page's policy"
            assert "javascript:" not in value or name in ("aria-label",), (name, value)
    scripts = [script.attributes.get("type") for script in page.all("script")]
    assert scripts == ["application/json", None]
