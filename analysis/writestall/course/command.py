# SPDX-License-Identifier: GPL-2.0-only
"""command: `writestall course`: start a lab, answer it, reset it, grade a class."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from writestall.cli import options
from writestall.course.limits import MOST_CHAIN, MOST_MS, MOST_PREDICTION, MOST_WORD
from writestall_base.command_line import Parser, whole
from writestall_base.errors import UserError

if TYPE_CHECKING:
    from writestall.course.tables import Lab
    from writestall.course.work import Question

Does = Callable[[argparse.Namespace], int]
OUT = "out"
ASKED = {
    "--holder": "who held what that call itself waited for longest: a thread as explain"
    " prints it, NAME/TID, or none",
    "--root": "what the chain ends with: whose I/O was slow",
}


def arguments(parser: Parser) -> None:
    """Add the words that may follow."""
    words = parser.add_subparsers(metavar="WORD", required=True)

    def add(does: Does, name: str, what: str, example: str = "") -> Parser:
        text = f"{what[0].upper()}{what[1:]}."
        epilog = f"example: writestall course {name} {example}".rstrip()
        made: Parser = words.add_parser(
            name, help=what, description=text, epilog=epilog
        )
        made.set_defaults(does=does)
        return made

    add(_list, "list", "list the labs")
    predict = "keep a prediction, before the lab is started"
    _add_predict(add(_predict, "predict", predict, "3 '1: no. 2: no. 3: one'"))
    start = "3 --seed anna --recorded"
    _add_start(add(_start, "start", "run a lab, or its mystery", start))
    answer = "3 --holder kworker/u8:1/31 --root jbd2 --ms 1200"
    _add_answer(add(_answer, "answer", "judge an answer", answer))
    _add_lab(add(_reset, "reset", "delete the work on a lab", "3"))
    _add_grade(add(_grade, "grade", "judge the answers of a class", "answers"))
    names = "names.txt answers --key K"
    _add_class(add(_class, "class", "make the folder of a class", names))


def _word(text: str, most: int = MOST_WORD) -> str:
    """An argument type: text that can be kept in a file and printed."""
    if not text:
        raise argparse.ArgumentTypeError("want a word, and this is empty")
    if not text.isprintable():
        raise argparse.ArgumentTypeError(f"{text!a}: want printable text")
    if len(text) > most:
        raise argparse.ArgumentTypeError(f"want at most {most} characters")
    return text


def _prediction(text: str) -> str:
    """An argument type: some lines of text."""
    return _word(" ".join(text.split()), MOST_PREDICTION)


def _chain(text: str) -> str:
    """An argument type: a chain as edges.py has it."""
    from writestall.course import edges

    try:
        edges.parse(_word(text, MOST_CHAIN))
    except UserError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


def _add_lab(parser: Parser) -> None:
    parser.add_argument("lab", type=whole(), metavar="N", help="number of the lab")
    out = f"where the work is ({OUT})"
    parser.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=out)


def _add_predict(parser: Parser) -> None:
    _add_lab(parser)
    what = "your predictions; they go into the answer that you hand in"
    parser.add_argument("text", type=_prediction, metavar="TEXT", help=what)


def _add_class(parser: Parser) -> None:
    add = parser.add_argument
    add("names", type=Path, metavar="NAMES", help="file: one name a line")
    add("folder", type=Path, metavar="DIR", help="a new folder")
    key = "draw the seeds with this word, too: nobody can look for an easy one"
    add("--key", type=_word, metavar="K", help=key)


def _add_start(parser: Parser) -> None:
    _add_lab(parser)
    add = parser.add_argument
    seed = "draw a mystery: any word, such as your name"
    add("--seed", type=_word, metavar="S", help=seed)
    change = "run it with the change of its page, once it was run without"
    add("--change", action="store_true", help=change)
    recorded = "a recorded run instead of a VM"
    add("--recorded", action="store_true", help=recorded)
    for name, metavar in (("kernel", "KERNEL"), ("accel", "NAME")):
        add(f"--{name}", metavar=metavar, help="of the VM, as writestall lab takes it")


def _add_answer(parser: Parser) -> None:
    _add_lab(parser)
    add = parser.add_argument
    for name, what in ASKED.items():
        add(name, type=_word, required=True, metavar="NAME", help=what)
    most = options.number(MOST_MS, "milliseconds, as 1.5")
    what = "what the lab asks for, milliseconds"
    add("--ms", type=most, required=True, metavar="MS", help=what)
    what = "the whole chain, made from the events: WAIT=HOLDER,WAIT=HOLDER ..."
    add("--chain", type=_chain, metavar="EDGES", help=what)


def _add_grade(parser: Parser) -> None:
    add = parser.add_argument
    add("folder", type=options.existing, metavar="DIR", help="their folders")
    add = parser.add_mutually_exclusive_group().add_argument
    add("--json", action="store_true", help="print JSON")
    add("--csv", action="store_true", help="print CSV, for a spreadsheet")


def main(args: argparse.Namespace) -> int:
    """Do what was asked for."""
    status: int = args.does(args)
    return status


def _list(_: argparse.Namespace) -> int:
    from writestall.course import tables

    labs = tables.labs()
    width = max(len(lab.title) for lab in labs)
    options.print_lines(
        f"{lab.number}  {lab.title:<{width}}  {lab.minutes} min  docs/course/{lab.page}"
        for lab in labs
    )
    return options.ANSWERED


def _predict(args: argparse.Namespace) -> int:
    from writestall.course import kept, tables, work

    number = tables.lab(args.lab).number
    kept.predict(work.folder(args.out, number), number, args.text)
    start = f"./writestall course start {number}"
    options.print_lines([f"lab {number}: your prediction is kept; {start}"])
    return options.ANSWERED


def _start(args: argparse.Namespace) -> int:
    from writestall.course import draw, machine, tables, work

    lab = tables.lab(args.lab)
    place = work.folder(args.out, lab.number)
    if args.change:
        return _change(args, lab, place)
    seed = args.seed or ""
    name = draw.recorded(lab.number, seed)
    chosen = _chosen(args, lab, name)
    work.begin(place, work.Question(lab.number, seed, args.recorded))
    if args.recorded:
        work.unpack(name, place / work.LATEST)
        if seed:
            work.hide(place / work.LATEST)
    else:
        what = machine.mystery(place, lab.number, seed) if seed else lab.scenario
        machine.run(place, lab.number, what, chosen, answers=not seed)
    options.print_lines(_question(lab, place, work.ask(place)))
    return options.ANSWERED


def _chosen(args: argparse.Namespace, lab: Lab, recorded: str) -> list[str]:
    """The options of `writestall lab`; refuse what a recorded run has not."""
    from writestall.course import checkout

    named = {"kernel": args.kernel, "accel": args.accel}
    given = {name: value for name, value in named.items() if value is not None}
    if args.recorded and given:
        raise UserError(f"--{next(iter(given))}: a recorded run has its own")
    checkout.recorded(recorded)
    own = {"kernel": lab.kernel} if lab.kernel else {}
    return [
        word for name, value in (own | given).items() for word in (f"--{name}", value)
    ]


def _change(args: argparse.Namespace, lab: Lab, place: Path) -> int:
    """Run the lab with its change, into the folder of its work."""
    from writestall.course import machine, work

    if args.seed:
        raise UserError("--change: a mystery has none; leave --seed out")
    chosen = _chosen(args, lab, lab.changed["shown"])
    inside = work.change(place)
    if args.recorded:
        work.unpack(lab.changed["shown"], inside / work.LATEST)
    else:
        machine.run(inside, lab.number, lab.changed["scenario"], chosen)
    run = inside / work.LATEST
    options.print_lines([f"lab {lab.number}, changed: ./writestall explain {run}"])
    return options.ANSWERED


def _question(lab: Lab, place: Path, question: Question) -> Iterator[str]:
    """The question, and how it is answered."""
    from writestall.course import draw, work
    from writestall.course.facts import QUANTITIES

    run = place / work.LATEST
    yield f"lab {lab.number}, {lab.title}: the run is in {run}"
    yield "The question is about one call of it:"
    yield f"  ./writestall explain {run} --write {question.write}"
    if question.seed:
        call = work.facts(place, question).write
        yield "or, without explain and report, made from the events by hand (--chain):"
        when = f"t_ns {call.t_ns}, dur_ns {call.dur_ns}"
        yield f"  the call of {call.comm}/{call.tid}, {when}"
        yield f"  {run}/events/"
    yield ""
    yield from (f"  {name:<9} {what}" for name, what in ASKED.items())
    yield f"  {'--ms':<9} {QUANTITIES[draw.quantity(lab.number, question.seed)]}"
    yield ""
    yield f"what to look at: docs/course/{lab.page}"
    answer = f"./writestall course answer {lab.number} --holder NAME --root NAME"
    out = place.parents[1]
    elsewhere = "" if out == Path(OUT) else f" --out {shlex.quote(str(out))}"
    yield f"answer:          {answer} --ms MS{elsewhere}"


def _answer(args: argparse.Namespace) -> int:
    from writestall.course import draw, edges, gradebook, kept, tables, work
    from writestall.course.judge import PARTS, judge

    lab = tables.lab(args.lab)
    place = work.folder(args.out, lab.number)
    question = work.ask(place)
    quantity = draw.quantity(lab.number, question.seed)
    facts, before = work.facts(place, question), work.handed(place)
    given = work.Handed(
        lab.number,
        question.seed,
        question.recorded,
        args.holder,
        args.root,
        args.ms,
        args.chain or "",
        kept.count(place, question),
        kept.prediction(place, lab.number),
    )
    judged = judge(facts, quantity, given.given)
    options.print_lines(f"{part:<7} {judged.wrong[part] or 'right'}" for part in PARTS)
    by_hand = edges.judge(facts, args.chain) if args.chain else []
    options.print_lines(
        f"edge {number}  {wrong or 'right'}" for number, wrong in enumerate(by_hand, 1)
    )
    if before and gradebook.keeps(facts, before, given):
        options.print_lines([f"the answer of try {before.tries} passed, and is kept"])
    else:
        work.write(place / work.ANSWER, given)
        wrong = [*judged.wrong.values(), *by_hand]
        options.print_lines([_result(wrong, given.tries, place / work.ANSWER)])
    passed = judged.passed and not any(by_hand)
    return options.ANSWERED if passed else options.FAILED


def _result(wrong: list[str], number: int, file: Path) -> str:
    """The last line of the verdict on an answer that is handed in."""
    if any(wrong):
        return f"{wrong.count('')} of {len(wrong)} right, at try {number}"
    return f"passed, at try {number}: {file}"


def _reset(args: argparse.Namespace) -> int:
    from writestall.course import tables, work

    number = tables.lab(args.lab).number
    work.reset(work.folder(args.out, number), number)
    options.print_lines([f"lab {number}: deleted"])
    return options.ANSWERED


def _grade(args: argparse.Namespace) -> int:
    from writestall.course import gradebook
    from writestall.pictures import terminal

    found = gradebook.rows(args.folder)
    if args.json:
        options.print_json(gradebook.as_json(found))
        return options.ANSWERED
    if args.csv:
        sys.stdout.write(gradebook.as_csv(found))
        return options.ANSWERED
    terminal.show([gradebook.table(found), "", gradebook.sums_table(found), ""])
    options.print_lines(gradebook.remarks(found))
    return options.ANSWERED


def _class(args: argparse.Namespace) -> int:
    from writestall.course import roster

    count = roster.make(args.names, args.folder, args.key or "")
    made = f"{args.folder}: {count} folders, and their seeds in {roster.FILE}"
    options.print_lines([made])
    return options.ANSWERED
