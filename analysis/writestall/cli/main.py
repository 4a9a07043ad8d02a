# SPDX-License-Identifier: GPL-2.0-only
"""main: turns the command line into calls, and errors into one line and a status.

Exit status: 0 answered, 1 a check failed, 2 bad input or usage, 3 there is nothing to
check by. Commands import what they need when they run: an answer must not wait for
modules it does not use.
"""

from __future__ import annotations

import argparse
import gc
import io
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from writestall import __version__
from writestall.cli import comparison, outputs
from writestall.common.errors import WritestallError
from writestall.common.units import printable
from writestall.export.formats import load

REPORT = "report.html"
ANSWERED, FAILED, BAD_INPUT, UNJUDGED = 0, 1, 2, 3


def _explain(args: argparse.Namespace) -> int:
    if (args.run is None) == (args.log is None):
        raise WritestallError("explain: want a THING or --log FILE, one of them")
    if args.log is None:
        from writestall.cli import thing

        args.kind = thing.kind(args.run)
        if args.kind != thing.LOG:
            return _explain_run(args)
    return _explain_log(args)


def _say_kind(args: argparse.Namespace, place: str) -> None:
    """Says what explain was given, where it had to find out; a folder is a run."""
    if args.kind and not args.run.is_dir():
        print(f"{printable(place)}: {args.kind}", file=sys.stderr)


def _explain_log(args: argparse.Namespace) -> int:
    from writestall.log import links, remarks
    from writestall.log import text as logtext

    place = args.log or str(args.run)
    try:
        log = remarks.read_place(place)
    except remarks.NoStacksError as error:
        if args.log:
            raise
        raise WritestallError(
            f"{error} (it is a file, neither a run directory nor a tracer's events)"
        ) from None
    _say_kind(args, remarks.name(place))
    answer = links.explain_log(log.tasks)
    if args.json:
        _print_json(logtext.log_json(answer) | remarks.as_json(log))
        return ANSWERED
    if answer.tasks:
        _print_lines(logtext.report(answer, remarks.name(place)))
    _print_lines(remarks.lines(log))
    return ANSWERED


def _explain_run(args: argparse.Namespace) -> int:
    from writestall.chain import answers, clients, tally
    from writestall.common import files
    from writestall.events import run_directory
    from writestall.export import chains_json
    from writestall.report import application_text, text

    run = run_directory.open_run(args.run)
    try:
        answer = answers.answer(run, args.engine, args.all)
    except WritestallError:
        # Its page says what is wrong, too.
        if args.report:
            return _report(args)
        raise
    if run.bare:
        _say_kind(args, str(args.run))
        run.path.mkdir(exist_ok=True)
    count = len(answer.writes)
    if args.write is not None and not 1 <= args.write <= count:
        raise WritestallError(f"--write {args.write}: this run has 1 to {count}")
    asked, path = tally.Asked(), run.path / "chains.json"
    if args.report:
        from writestall.report import page

        asked = page.asked(answer)
    unwritten = _kept(lambda: chains_json.keep_chains(answer, path, asked))
    summary = answer.summary() | clients.summary(answer)
    told = run_directory.json_bytes(summary)
    unwritten = unwritten or _kept(lambda: files.save(run.path / "summary.json", told))
    if args.json:
        at = (args.write or 1) - 1
        chosen = answer.slowest[at : at + (1 if args.write else args.top)]
        _print_json({"summary": summary, **chains_json.chains_json(answer, chosen)})
    else:
        seen = application_text.lines(answer, args.top)
        _print_lines(text.report(answer, args.top, args.write, seen))
    if args.report:
        shown = page.page(answer).encode()
        target = run.path / REPORT
        unwritten = unwritten or _kept(lambda: files.save(target, shown))
    if unwritten:
        sys.stdout.flush()
        raise unwritten
    return ANSWERED


def _kept(save: Callable[[], None]) -> WritestallError | None:
    """Writes an answer beside its events; a folder that refuses must not hide it."""
    try:
        save()
    except WritestallError as error:
        return error
    return None


def _report(args: argparse.Namespace) -> int:
    from writestall.chain import answers
    from writestall.common import files
    from writestall.events import run_directory
    from writestall.report import page

    run = run_directory.open_run(args.run)
    failure: WritestallError | None = None
    try:
        answer = answers.answer(run, args.engine, args.all)
    except WritestallError as error:
        # Somebody opens the page: it must say what is wrong, as the terminal does.
        answer, failure = page.unreadable(run), error
    path = args.output or run.path / REPORT
    text = page.page(answer, str(failure) if failure else None)
    files.save(path, text.encode())
    if failure:
        raise failure
    _print_lines([str(path)])
    return ANSWERED


def _check(args: argparse.Namespace) -> int:
    from writestall.chain import answers
    from writestall.events import run_directory
    from writestall.verdict import check

    run = run_directory.open_run(args.run)
    if why := check.unjudged(run):
        _print_lines([why])
        return UNJUDGED
    verdict = check.check(answers.answer(run, args.engine))
    if args.json:
        _print_json(verdict.as_json())
    else:
        _print_lines(check.lines(verdict, args.run, args.min))
    return FAILED if verdict.failures(args.min) else ANSWERED


def _compare_engines(args: argparse.Namespace) -> int:
    from writestall.events import run_directory
    from writestall.verdict import engines as compare

    result = compare.compare(run_directory.open_run(args.run), int(args.awake_ms * 1e6))
    _print_lines(compare.lines(result))
    return FAILED if result.misses else ANSWERED


def _expect(args: argparse.Namespace) -> int:
    from writestall.chain import answers
    from writestall.events import run_directory
    from writestall.verdict import expect

    answer = answers.answer(run_directory.open_run(args.run), args.engine)
    misses = list(expect.misses(answer))
    name = answer.summary()["scenario"]
    _print_lines(
        misses or [f"as expected: {name}, {len(answer.writes)} stalled writes"]
    )
    return FAILED if misses else ANSWERED


def _shell(args: argparse.Namespace) -> int:
    shell = load("cli.completion", "shtab")
    parser = _parser()
    made = shell.man_page(parser) if args.man else shell.completion(parser, args.shell)
    sys.stdout.write(made)
    return ANSWERED


def _print_lines(lines: Iterable[str]) -> None:
    # Names in them come from users: nothing a terminal would obey gets out.
    sys.stdout.write("".join(f"{printable(line)}\n" for line in lines))


def _print_json(value: dict[str, Any]) -> None:
    from writestall.events.run_directory import json_bytes

    sys.stdout.write(json_bytes(value).decode())


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("want 1 or more")
    return value


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError("want a share from 0 to 1")
    return value


def _milliseconds(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1e9:
        raise argparse.ArgumentTypeError("want milliseconds, 0 or more")
    return value


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="writestall",
        description="Says why write(2) stalled: which lock, held by whom, waiting for "
        "what, down to the disk.",
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    explain = _command(
        commands,
        "explain",
        _explain,
        "the chains of a run's slowest writes, and the summary",
        "writestall explain out/latest --top 3",
    )
    explain.add_argument(
        "--log",
        metavar="FILE",
        help="no run: a kernel log with stacks of stuck tasks; - is standard input",
    )
    explain.add_argument(
        "--write", type=_positive, metavar="N", help="only the Nth slowest write"
    )
    explain.add_argument(
        "--top", type=_positive, default=5, metavar="K", help="chains shown (5)"
    )
    explain.add_argument(
        "--report",
        action="store_true",
        help="the page of `report`, too, in one go",
    )
    explain.set_defaults(output=None, kind=None)
    report = _command(
        commands,
        "report",
        _report,
        "the answer as one HTML page that opens from disk",
        "writestall report out/latest -o stalls.html",
        verb="Writes",
    )
    report.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="the page (RUN/report.html)"
    )
    for command in (explain, report):
        command.add_argument(
            "--all",
            action="store_true",
            help="writes to other disks than the run's too",
        )
    check = _command(
        commands,
        "check",
        _check,
        "how right the explanation is, by the injector's own record",
        "writestall check out/latest --min 0.99",
    )
    check.add_argument(
        "--min",
        type=_share,
        default=0.95,
        metavar="X",
        help="least share of roots, precision and recall, 0 to 1 (0.95)",
    )
    for command in (explain, check):
        command.add_argument("--json", action="store_true", help="print JSON")
    expect = _command(
        commands,
        "expect",
        _expect,
        "whether the run shows what its scenario promises",
        "writestall expect out/latest",
    )
    for command in (explain, report, check, expect):
        command.add_argument(
            "--engine",
            choices=("stap", "bpftrace"),
            help="whose events (stap where both are there)",
        )
    compare = _command(
        commands,
        "compare-engines",
        _compare_engines,
        "whether both engines and the client saw the same stalls",
        "writestall compare-engines out/latest",
    )
    compare.add_argument(
        "--awake-ms",
        type=_milliseconds,
        default=0.0,
        metavar="MS",
        help="what the client may be awake beside its sleeps, where CPUs are short (0)",
    )
    outputs.add_commands(partial(_command, commands))
    folder = ("DIR", "comparison's folder, of make compare")
    comparison.add_commands(partial(_command, commands, place=folder))
    _add_shell(commands)
    return parser


def _add_shell(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    what = "completion for a shell, or the man page"
    parser = commands.add_parser(
        "shell",
        help=what,
        description=f"Prints {what}.",
        epilog="example: writestall shell --completion bash >>~/.bashrc",
    )
    wanted = parser.add_mutually_exclusive_group(required=True)
    shells = ("bash", "zsh", "tcsh")
    wanted.add_argument("--completion", choices=shells, dest="shell", help="for which")
    wanted.add_argument("--man", action="store_true", help="writestall(1), as roff")
    parser.set_defaults(call=_shell)


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    call: Callable[[argparse.Namespace], int],
    what: str,
    example: str,
    verb: str = "Prints",
    place: tuple[str, str] = ("RUN", "run directory"),
) -> argparse.ArgumentParser:
    """A command that reads one run directory, or another `place`."""
    parser = commands.add_parser(
        name, help=what, description=f"{verb} {what}.", epilog=f"example: {example}"
    )
    optional = "?" if name == "explain" else None
    if optional:
        place = "THING", "run directory, a tracer's events, or a log; - is stdin"
    parser.add_argument(
        "run", type=Path, metavar=place[0], nargs=optional, help=place[1]
    )
    parser.set_defaults(call=call)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit status."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal of another encoding gets \\xNN, not a traceback.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    args = _parser().parse_args(argv)
    # Events and chains form no cycles; to look for some is a fifth of a long run.
    collecting = gc.isenabled()
    gc.disable()
    try:
        status: int = args.call(args)
        sys.stdout.flush()
    except WritestallError as error:
        print(f"writestall: {printable(str(error))}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:
        # The reader has seen enough; keep the interpreter from flushing again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ANSWERED
    finally:
        if collecting:
            gc.enable()
    return status
