# SPDX-License-Identifier: GPL-2.0-only
"""This test will hold machine code to the same answers as Python, and no loop to it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import replay
import test_gold
import test_repeated_lines as repeated
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from made_stacks import STACKS
from test_chain_properties import blocks, stream_of, writes
from test_processes import share, told

from writestall.chain import sums, tally
from writestall.chain.explainer import Explainer
from writestall.chain.sums import Counted
from writestall.chain.tally import Asked
from writestall.cli.main import main
from writestall.common import machine_code
from writestall.events.contract import Block, Write
from writestall.events.stream import read_stream

pytest.importorskip("numba")
Capture = pytest.CaptureFixture[str]
FILES = ("chains.json", "summary.json", "report.html")
SLOW = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Has no code made at first; `fast` has it made for any run."""
    with monkeypatch.context() as patch:
        patch.setattr(machine_code, "WORTH_EVENTS", 1 << 62)
        yield patch


def fast(patch: pytest.MonkeyPatch) -> None:
    """Has machine code made, however short the run."""
    patch.setattr(machine_code, "WORTH_EVENTS", 0)


def answered(run: Path, capsys: Capture) -> list[str]:
    """What is printed of a run, and left in its folder."""
    assert main(["explain", str(run), "--report", "--top", "9"]) == 0
    files = [(run / name).read_text() for name in FILES]
    return [capsys.readouterr().out, *files]


@pytest.mark.parametrize("name", sorted(test_gold.HOMES))
def test_recorded_runs(
    name: str, plain: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    """Every file to the byte."""
    run = test_gold.unpacked(name, tmp_path)
    expected = answered(run, capsys)
    fast(plain)
    assert answered(run, capsys) == expected


@pytest.mark.parametrize("processes", [1, 2])
def test_a_long_run(
    processes: int, plain: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    """Three hundred stalls, also where two processes share the work."""
    run = replay.make(tmp_path / "run", 3000)
    expected = answered(run, capsys)
    fast(plain)
    share(plain, processes)
    assert answered(run, capsys) == expected


def counted(explainer: Explainer, calls: list[Write], asked: Asked) -> Counted:
    """What is counted of some writes."""
    numbers = explainer.ledger.writes(enumerate(calls, 1000))
    return sums.count(explainer.ledger, numbers, asked)


@settings(max_examples=150, suppress_health_check=SLOW, deadline=None)
@given(
    st.lists(blocks, max_size=30),
    st.lists(writes, min_size=1, max_size=3),
    st.sampled_from([1, 1000, 1_000_000]),
    st.integers(0, 2),
    st.sampled_from([Asked(), Asked(1), Asked(1, 5_000_000, 1)]),
)
def test_whatever_the_events(
    plain: pytest.MonkeyPatch,
    found: list[Block],
    calls: list[Write],
    floor_ns: int,
    lost: int,
    asked: Asked,
) -> None:
    """Chains, and sums in their order, of events no kernel would print."""
    plain.setattr(machine_code, "WORTH_EVENTS", 1 << 62)
    stream = stream_of(found, calls, floor_ns, lost)
    slow = Explainer(stream)
    fast(plain)
    quick = Explainer(stream)
    assert quick.ledger.fast and not slow.ledger.fast
    for id, write in enumerate(calls, 1000):
        assert quick.chain(id, write) == slow.chain(id, write)
    assert vars(counted(quick, calls, asked)) == vars(counted(slow, calls, asked))


@settings(max_examples=150, suppress_health_check=SLOW, deadline=None)
@given(st.lists(repeated.LINES, max_size=40))
def test_lines_that_repeat(plain: pytest.MonkeyPatch, lines: list[str]) -> None:
    """The same sleeps and the same complaints."""
    plain.setattr(machine_code, "WORTH_EVENTS", 1 << 62)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stap.jsonl"
        path.write_text("\n".join([repeated.BEGIN, *lines]))
        expected = told(read_stream(path))
        fast(plain)
        assert told(read_stream(path)) == expected


def test_times_too_long_for_its_numbers(plain: pytest.MonkeyPatch) -> None:
    """Two of the longest add up beyond 64 bits: Python takes them."""
    fast(plain)
    most_ns = 2**62
    stack = tuple(STACKS["journal_buffer"])
    long = Block(most_ns, most_ns, 1, most_ns, kstack=stack)
    write = Write(0, most_ns, 1, sleeps=1)
    explainer = Explainer(stream_of([long], [write], 1, 0))
    assert not explainer.ledger.fast
    assert explainer.chain(1000, write).write.dur_ns == most_ns


def test_a_table_that_runs_full(
    plain: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    """What was counted before it is full is kept."""
    run = replay.make(tmp_path / "run", 2000)
    expected = answered(run, capsys)
    plain.setattr(sums, "FEW_PARTS", 8)
    assert answered(run, capsys) == expected
    assert tally.QUESTIONS <= sums.KEYS


def test_a_folder_that_keeps_no_code(plain: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It is made each time."""
    refuses = tmp_path / "file"
    refuses.touch()
    assert not machine_code._is_writable(refuses / "code")
    assert machine_code._is_writable(tmp_path / "code")
