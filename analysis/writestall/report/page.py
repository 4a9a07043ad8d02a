# SPDX-License-Identifier: GPL-2.0-only
"""page: render an answer as `report.html`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from writestall.chain.answers import TOTALS, Answer
from writestall.chain.collect import Question
from writestall.chain.roots import Root
from writestall.chain.totals import by_file
from writestall.classify import styles
from writestall.common import scales
from writestall.events.hlog import Log, read_log
from writestall.events.run_directory import RunDir
from writestall.events.stream import Stream
from writestall.pictures import time_grid
from writestall.report import application_text
from writestall.report.application_timeline import picture
from writestall.report.caveats import CAVEATS
from writestall.report.commits import PHASES, commits
from writestall.report.convoys import convoy_views
from writestall.report.flame_graph import STEPS, flame
from writestall.report.headline import headline
from writestall.report.heat_map import MOST_COLUMNS, heat
from writestall.report.percentiles import curve
from writestall.report.render import render
from writestall.report.slow_writes import views
from writestall.report.text import losses, main_root, noun, sentence
from writestall.report.timeline import Timeline
from writestall.verdict import replays
from writestall.verdict.replays import Judged
from writestall_base.errors import UserError
from writestall_base.units import ms, percent, printable

# An application's longest pauses that the page shows.
MOST_PAUSES = 5
LOGS = {"corrected": "writer.hlog", "uncorrected": "writer-service.hlog"}


@dataclass(frozen=True, slots=True)
class MomentView:
    """A pause, request or complaint of an application as text and picture.

    `head` and `who` are its first line, `tree` the lines below.
    """

    head: str
    who: str
    tree: list[str]
    picture: Timeline


def moment_views(answer: Answer, most: int) -> list[MomentView]:
    """The longest of them, longest first."""
    views = []
    for row in application_text.moments(answer, most):
        head, *tree = application_text.moment(answer, row)
        # Two columns, apart by two spaces or more.
        what, _, who = head.rpartition("  ")
        views.append(MomentView(what.strip(), who, tree, picture(answer, row)))
    return views


@dataclass(frozen=True, slots=True)
class Share:
    """One row of a table of shares; `kind` names its style."""

    name: str
    kind: str
    took: str
    percent: str
    width: float


def unreadable(run: RunDir) -> Answer:
    """An empty answer, for a run whose events cannot be read."""
    log = read_log(run.path / LOGS["corrected"])
    return Answer(run, "none", Stream(""), [], log, notes=list(run.notes))


def questions(answer: Answer) -> list[Question[Any]]:
    """What is asked of all chains for the page."""
    return [TOTALS, CAVEATS, STEPS, _grid(answer).causes]


def _grid(answer: Answer) -> time_grid.Grid:
    return time_grid.grid_of(answer, MOST_COLUMNS)


def page(answer: Answer, failure: str | None = None) -> str:
    """Render the page; `failure` is the reason if there is no answer."""
    context = _context(answer)
    context["known"] = failure is None
    said = headline(answer)
    text = f"Nothing to explain: {failure}" if failure else sentence(answer)
    context["headline"], context["answer"] = (said, text) if said else (text, None)
    return render("page.html", context, ("page.css",), "page.js")


def _context(answer: Answer) -> dict[str, Any]:
    """The values that the templates print."""
    answer.collect(*questions(answer))
    grid = _grid(answer)
    start_ns = grid.start_ns
    summary = answer.summary()
    cells = heat(time_grid.heat_map(answer, grid))
    service = read_log(answer.run.path / LOGS["uncorrected"])
    read = {"corrected": answer.log, "uncorrected": service}
    logs = {key: log for key, log in read.items() if log and log.count}
    shown, record = convoy_views(answer, cells)
    graph = flame(answer)
    both = views(answer, start_ns)
    gaps = _gaps(answer, logs, service)
    journal = commits(answer, start_ns, gaps)
    classes = _shares(answer.ns_by_class, {}, answer.stall_ns)
    files = by_file(answer.writes)
    roots = {answer.in_words(root): ns for root, ns in answer.all_roots.items()}
    kinds = {answer.in_words(root): root.cls for root in answer.all_roots}
    moments = moment_views(answer, MOST_PAUSES)
    drawn = {bar.kind for row in moments for bar in row.picture.bars}
    replay, damage = _replay(answer)
    names = {row.kind for row in classes} | set(kinds.values())
    names |= {frame.kind for frame in graph.frames} | {
        bar.kind for convoy in shown for bar in convoy.picture.bars
    }
    return {
        "summary": summary,
        "counted": answer.counted,
        "introduction": introduction(answer),
        "explained": percent(answer.share_explained),
        "losses": list(losses(answer)),
        "facts": _facts(answer, summary),
        "replay": replay,
        "heat": cells,
        "convoys": shown,
        "record": _json(record),
        "total": len(answer.writes),
        "stalled": f"stalled {noun(answer)}",
        "curve": curve(logs),
        "application": list(application_text.overview(answer)),
        "moments": moments,
        "moment_kinds": styles.legend(drawn),
        "files": _shares(files, dict.fromkeys(files, "call"), answer.stall_ns),
        "classes": classes,
        "roots": _shares(roots, kinds, answer.stall_ns),
        "flame": graph,
        "commits": journal,
        "phases": styles.legend(set(PHASES)) if journal else [],
        "views": both,
        "caveats": answer.gathered(CAVEATS),
        "notes": answer.notes,
        "gaps": gaps + (both.notes if both else []) + damage,
        "legend": styles.legend(names),
        "kinds": styles.STYLES.values(),
        "low": scales.low,
        "ns_share": percent,
    }


def _replay(answer: Answer) -> tuple[Judged | None, list[str]]:
    """What came back of a recording, if the run replays one; what is damaged of it."""
    try:
        return replays.judge(answer), []
    except UserError as error:
        return None, [str(error)]


def _shares(sums: dict[Any, int], kinds: dict[Any, str], total: int) -> list[Share]:
    """Sums as rows, largest first, as in the text."""
    return [
        Share(
            str(name),
            kinds.get(name, str(name)),
            ms(ns),
            percent(ns, total),
            scales.share(ns, total),
        )
        for name, ns in sums.items()
    ]


def _gaps(answer: Answer, logs: dict[str, Log], service: Log) -> list[str]:
    """List what the curves and the map lack, beyond the answer's notes."""
    if answer.run.of_host:
        return []  # nobody measured latencies
    gaps = [f"{p.file}: {p.text}" for p in service.problems[:4]]
    others = sorted(path.name for path in answer.run.path.glob("writer-*.hlog"))
    gaps += [
        f"{name}: another workload's, not in the curves"
        for name in others
        if name not in LOGS.values()
        and not name.endswith(("-service.hlog", "-pause.hlog"))
    ]
    return gaps + [f"no {key} latency curve" for key in LOGS if key not in logs]


def _facts(answer: Answer, summary: dict[str, Any]) -> list[tuple[str, str]]:
    """List what ran; leave out what is unknown."""
    run = answer.run
    begin = answer.stream.begin
    tracer = f"{answer.engine} {begin.engine_version or ''}" if begin else answer.engine
    facts = {
        "scenario": summary["scenario"],
        "host": run.get("host", "name"),
        "distribution": run.get("host", "distribution"),
        "kernel": summary["kernel"],
        "architecture": run.get("arch"),
        "file system": run.get("filesystem", "type"),
        "mount options": run.get("filesystem", "mount_options"),
        "disk": run.get("device", "name"),
        "tracer": tracer,
        "floor": ms(begin.floor_ns) if begin else None,
        "stall from": ms(begin.stall_ns) if begin else None,
        "status": run.get("status"),
        "run": run.path.resolve().name,
    }
    return [(name, str(value)) for name, value in facts.items() if value]


def _json(value: object) -> Markup:
    """Encode as JSON that cannot end a script element: ASCII, without `<`, `>`, `&`."""
    text = json.dumps(value, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)


# Who a root's I/O is for, as classify/owners.py names it.
_WHO = {
    "jbd2": "jbd2 is the kernel thread that commits ext4's journal.",
    "writeback": "Writeback is the flusher, a kernel worker that writes dirty pages.",
    "the XFS log": "The XFS log is XFS's journal, which kernel workers write.",
    "the btrfs transaction": "A kernel thread of btrfs commits the transaction.",
    "the f2fs checkpoint": "A kernel thread of f2fs writes the checkpoint.",
    "the loop worker": "The loop worker does the I/O of a disk that is a file.",
    "the dm-crypt worker": "The dm-crypt worker encrypts and submits I/O.",
    "the md thread": "The md thread does the I/O of a RAID.",
}


def introduction(answer: Answer) -> str:
    """One line for a reader who knows neither disk nor thread; empty without any."""
    root, _ = main_root(answer.all_roots)
    facts = (*_disk(answer, root), _WHO.get(root.who, ""), _injected(answer, root))
    return " ".join(filter(None, facts))


def _disk(answer: Answer, root: Root) -> Iterator[str]:
    """What is on the disk, where it is one of the run's."""
    if root.device is None:
        return
    run, name = answer.run, printable(root.device)
    kind = run.get("filesystem", "type")
    if run.get("journal_device", "name") == root.device:
        yield f"Disk {name} holds the file system's journal."
    elif run.get("device", "name") == root.device and kind != "tmpfs":
        yield f"Disk {name} holds the {printable(str(kind))} file system."


def _injected(answer: Answer, root: Root) -> str:
    """What of the stall was made on purpose."""
    injector = answer.run.get("injector", "name")
    if isinstance(injector, str):
        name = printable(injector)
        return f"The lab delayed I/O on purpose in this run (injector {name})."
    if root.cap and answer.run.get("cgroups"):
        return "The lab set this limit on purpose."
    return ""
