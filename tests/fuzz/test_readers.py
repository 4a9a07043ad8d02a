# SPDX-License-Identifier: GPL-2.0-only
"""This test will damage events, logs, stacks and runs, and read them with each command.

Whatever they hold, a command answers or refuses in one line; it never breaks down."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import edits
import pytest
from drawing import SECONDS, drawn
from hypothesis import strategies as st

from support import PROJECT
from writestall.classify import endings, frames, owners, stack
from writestall.cli.main import main
from writestall.events import stored_run
from writestall.events.contract import Block

DATA = PROJECT / "tests/data"
RUNS = ("page-lock-6.12", "journal-buffer-7.2")
# Commands that read a run; what they write goes to {out}.
COMMANDS = (
    "explain {run}",
    "explain {run} --json",
    "explain {run} --other --engine stap",
    "report {run} -o {out}",
    "check {run}",
    "expect {run}",
    "hist {run}",
    "compare-engines {run}",
    "export {run} --to csv",
    "export {run} --to folded",
    "export {run} --to prometheus",
    "export {run} --to perfetto -o {out}",
)


def answers(*words: str) -> str:
    """Call a command; it answers, or refuses in one line."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
    assert status in (0, 1, 2, 3)
    if status == 2:
        assert out.getvalue() == "" or "explain" in words or "report" in words
        assert err.getvalue().startswith("writestall: ")
        assert len(err.getvalue().splitlines()) == 1, err.getvalue()
    return out.getvalue()


def _lines(path: Path) -> list[bytes]:
    content = path.read_bytes()
    packed = path.suffix == ".gz"
    return (gzip.decompress(content) if packed else content).splitlines(keepends=True)


class Damaged:
    """A copy of a recorded run, of which one file at a time is replaced."""

    def __init__(self, name: str, folder: Path) -> None:
        self.run = folder / "run"
        self.out = folder / "out"
        stored_run.unpack(DATA / "runs" / name, self.run)
        self.whole = {
            path.relative_to(self.run): path.read_bytes()
            for path in self.run.rglob("*")
            if path.is_file()
        }

    def files(self) -> Any:
        """A file of the run, and a damaged content for it."""
        return st.one_of(
            [
                st.tuples(
                    st.just(name),
                    edits.edited(
                        [content]
                        if name.suffix == ".json"
                        else content.splitlines(keepends=True),
                        edits.OF_TEXT if name.suffix == ".hlog" else edits.OF_JSON,
                    ),
                )
                for name, content in sorted(self.whole.items())
            ]
        )

    @contextlib.contextmanager
    def by(self, name: Path, content: bytes) -> Iterator[None]:
        """Replace a file; put it back afterwards, and drop what commands wrote."""
        (self.run / name).write_bytes(content)
        try:
            yield
        finally:
            for path in self.run.rglob("*"):
                if path.is_file() and path.relative_to(self.run) not in self.whole:
                    path.unlink()
            (self.run / name).write_bytes(self.whole[name])


@pytest.mark.parametrize("name", RUNS)
def test_no_run_breaks_a_command(name: str, tmp_path: Path) -> None:
    run = Damaged(name, tmp_path)
    commands = st.sampled_from(COMMANDS)

    def one(drew: tuple[str, tuple[Path, bytes]]) -> None:
        command, (file, content) = drew
        places = {"run": str(run.run), "out": str(run.out)}
        with run.by(file, content):
            answers(*(word.format(**places) for word in command.split()))

    count = drawn(st.tuples(commands, run.files()), one)
    print(f"fuzz: {count} runs in {SECONDS:g} s")
    assert count


def test_no_log_breaks_explain(tmp_path: Path) -> None:
    file = tmp_path / "log"
    logs = [_lines(path) for path in sorted((DATA / "logs").iterdir())]

    def one(content: bytes) -> None:
        file.write_bytes(content)
        answers("explain", "--log", str(file))
        answers("explain", str(file))

    some = [log[at : at + 120] for log in logs for at in range(0, len(log), 120)]
    drawing = st.sampled_from(some).flatmap(
        lambda lines: edits.edited(lines, edits.OF_TEXT)
    )
    count = drawn(drawing, one)
    print(f"fuzz: {count} logs in {SECONDS:g} s")
    assert count


def test_no_compressed_events_break_explain(tmp_path: Path) -> None:
    """Damaged where they are compressed: what unpacks then is anything."""
    stored = (DATA / "runs" / RUNS[0] / "events/stap.jsonl.gz").read_bytes()
    file = tmp_path / "events"
    whole = gzip.decompress(stored)[: 64 << 10]
    forms = [gzip.compress(whole), lzma.compress(whole), bz2.compress(whole)]

    def one(content: bytes) -> None:
        file.write_bytes(content)
        answers("explain", str(file), "--unpack-mib", "1")

    drawing = st.sampled_from(forms).flatmap(
        lambda packed: edits.edited([packed], (edits.noise, edits.cut))
    )
    count = drawn(drawing, one)
    print(f"fuzz: {count} compressed files in {SECONDS:g} s")
    assert count


FRAME = st.one_of(
    st.sampled_from([str(odd) for odd in edits.ODD]),
    st.from_regex(r"[a-z_]{1,30}(\.isra\.0)?\+0x[0-9a-f]{1,4}/0x[0-9a-f]+( \[\w+\])?"),
    st.text(max_size=40),
)


def test_no_stack_breaks_the_rules() -> None:
    import json

    packed = gzip.decompress((DATA / "stacks.jsonl.gz").read_bytes())
    recorded = [
        tuple(stack)
        for line in packed.splitlines()
        for stack in json.loads(line).values()
        if isinstance(stack, list) and all(isinstance(word, str) for word in stack)
    ]
    stacks = st.tuples(
        st.sampled_from(recorded),
        st.sampled_from(recorded),
        st.lists(FRAME, max_size=6),
    ).flatmap(lambda parts: st.permutations([*parts[0][:6], *parts[1][-6:], *parts[2]]))

    def one(words: list[str]) -> None:
        found = tuple(words)
        block = Block(0, 1, 1, kstack=found, waker_kstack=found, comm="a")
        verdict = stack.classify(found)
        parsed = frames.parse_stack(found)
        texts = (
            *(verdict.cls, stack.role(found, "jbd2/vdb-8"), endings.ending(block)),
            *(owners.owner_name(found, "a"), stack.first_caller(parsed)),
        )
        assert all(isinstance(word, str) for word in texts)
        endings.completes_io(block, verdict)
        endings.serves(block, endings.is_submitter(block, verdict))

    count = drawn(stacks, one)
    print(f"fuzz: {count} stacks in {SECONDS:g} s")
    assert count
