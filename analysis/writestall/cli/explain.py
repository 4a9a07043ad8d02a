# SPDX-License-Identifier: GPL-2.0-only
"""explain: print the chains of a run's slowest writes, or who waits in a kernel log."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from writestall.cli import options, report
from writestall_base.command_line import whole
from writestall_base.errors import UserError
from writestall_base.units import printable

if TYPE_CHECKING:
    from writestall.chain.answers import Answer
    from writestall.chain.collect import Question

RUN, EVENTS, LOG = "run directory", "events of a tracer, without a manifest", "log"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add THING or --log, and what is shown of it."""
    what = "run directory, file of tracer events, or kernel log (-: standard input)"
    parser.add_argument("run", nargs="?", type=Path, metavar="THING", help=what)
    add = parser.add_argument
    log = "FILE is a kernel log with stacks of stuck tasks (-: standard input)"
    add("--log", metavar="FILE", help=log)
    add("--write", type=whole(), metavar="N", help="show only the Nth slowest write")
    add("--top", type=whole(), default=5, metavar="K", help="show K chains (5)")
    other = "print the stacks of sleeps in calls that are not listed"
    add("--other", action="store_true", help=other)
    page = f"also write the page {report.NAME} into the run"
    add("--report", action="store_true", help=page)
    options.add(parser, "--all", "--call", "--json", "--engine", "--unpack-mib")


def main(args: argparse.Namespace) -> int:
    """Explain a run, a tracer's events or a log."""
    if (args.run is None) == (args.log is None):
        raise UserError("explain: want a THING or --log FILE, one of them")
    if args.log is not None:
        return _log(args, None)
    kind = _kind(args.run)
    return _log(args, kind) if kind == LOG else _run(args, kind)


def _kind(place: Path) -> str:
    """One of RUN, EVENTS, LOG; raises UserError for a file there is not."""
    from writestall.common import compressed
    from writestall.events.run_directory import are_events

    if place.is_dir():
        return RUN
    try:
        return EVENTS if are_events(compressed.head(str(place))) else LOG
    except FileNotFoundError:
        raise UserError(f"{place}: no such run or file") from None
    except OSError as error:
        raise UserError(f"{place}: {error.strerror}") from None


def _print_kind(name: str, kind: str) -> None:
    """Print what explain was given, where it had to find out."""
    place = "standard input" if name == "-" else name
    print(f"{printable(place)}: {kind}", file=sys.stderr)


def _log(args: argparse.Namespace, kind: str | None) -> int:
    from writestall.log import links, remarks, text

    place = args.log or str(args.run)
    try:
        log = remarks.read_place(place, options.bound(args))
    except remarks.NoStacksError as error:
        if kind is None or place == "-":
            raise
        raise UserError(
            f"{error} (it is a file, neither a run directory nor a tracer's events)"
        ) from None
    answer = links.explain_log(log.tasks)
    if not (answer.tasks or answer.not_stuck or log.unshown):
        said = "; ".join(text.left_out(answer))
        raise remarks.NoStacksError(
            f"{remarks.name(place)}: no stuck task: {said}; to see who waits: "
            f"{remarks.WHERE}"
        )
    if kind:
        _print_kind(place, kind)
    if args.json:
        options.print_json(text.log_json(answer, log.reports) | remarks.as_json(log))
        return options.ANSWERED
    if answer.tasks or answer.not_stuck:
        where = remarks.name(place)
        options.print_lines(text.report(answer, where, log.reports))
    options.print_lines(remarks.lines(log))
    return options.ANSWERED


def _run(args: argparse.Namespace, kind: str) -> int:
    run = options.open_run(args)
    read = report.answer_or_page if args.report else options.read_answer
    answer = read(args, run)
    if run.bare:
        _print_kind(str(args.run), kind)
    if args.other:
        from writestall.report import text

        options.print_lines(text.others(answer))
        return options.ANSWERED
    count = len(answer.writes)
    if args.write is not None and not 1 <= args.write <= count:
        raise UserError(f"--write {args.write}: this run has 1 to {count}")
    questions: list[Question[Any]] = []
    if args.report:
        from writestall.report import page

        questions = page.questions(answer)
    unwritten = _print(args, answer, questions)
    if args.report:
        unwritten = unwritten or _error_of(lambda: report.save_page(answer))
    if unwritten:
        sys.stdout.flush()
        raise unwritten
    return options.ANSWERED


def _print(
    args: argparse.Namespace, answer: Answer, questions: list[Question[Any]]
) -> UserError | None:
    """Print the answer and write it into the run; return why that failed, if it did."""
    from writestall.chain import clients
    from writestall.events.run_directory import json_bytes
    from writestall.export import chains_json
    from writestall.report import application_text, complaints, flight_recorder, text

    unwritten = _error_of(lambda: chains_json.keep_chains(answer, questions))
    summary = answer.summary() | clients.summary(answer) | complaints.summary(answer)
    summary |= flight_recorder.summary(answer)
    unwritten = unwritten or _error_of(
        lambda: answer.run.save("summary.json", json_bytes(summary))
    )
    if args.json:
        at = (args.write or 1) - 1
        chosen = answer.slowest[at : at + (1 if args.write else args.top)]
        chains = chains_json.chains_json(answer, chosen)
        options.print_json({"summary": summary, **chains})
    else:
        seen = application_text.lines(answer, args.top)
        options.print_lines(text.report(answer, args.top, args.write, seen))
    return unwritten


def _error_of(save: Callable[[], None]) -> UserError | None:
    """Save; return the error: a folder that refuses must not hide the answer."""
    try:
        save()
    except UserError as error:
        return error
    return None
