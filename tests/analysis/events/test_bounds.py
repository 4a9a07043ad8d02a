# SPDX-License-Identifier: GPL-2.0-only
"""This test will give commands little that unpacks to much: they stop at a bound.

Nothing is unpacked to a disk, so nothing is left there, however a command ends.
"""

from __future__ import annotations

import base64
import bz2
import gzip
import io
import lzma
import os
import resource
import shutil
import signal
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import build
from forced_processes import share
from hlog_text import HEADER
from streamed import contents
from support import PROJECT
from writestall.cli.main import main
from writestall.common import compressed
from writestall.common.compressed import Bound, TooLargeError
from writestall.events import hlog, packed, stored_run
from writestall.events.stream import read_stream
from writestall_base.errors import UserError

Capture = pytest.CaptureFixture[str]
MIB = 1 << 20
BEGIN = b'{"ev":"begin","t_ns":1,"engine":"stap"}\n'
LINE = b'{"ev":"unknown","t_ns":1}' + b" " * 998 + b"\n"
OVER = f"unpacks to more than {Bound().most_ratio} times its size"


def _zstd(data: bytes) -> bytes:
    if not shutil.which("zstd"):
        pytest.skip("zstd is not installed")
    command = ["zstd", "-qc"]
    return subprocess.run(command, input=data, capture_output=True, check=True).stdout


FORMATS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
    "zst": _zstd,
}


@cache
def bomb(form: str, what: bytes = LINE) -> bytes:
    """80 MiB of the same line, compressed to some KiB."""
    return FORMATS[form](BEGIN + what * (80 * MIB // len(what)))


def _run_with(tmp_path: Path, name: str, data: bytes) -> Path:
    run = build.run_dir(tmp_path / "run", build.cascade())
    (run / "events/stap.jsonl").unlink()
    (run / name).write_bytes(data)
    return run


def _refused(words: list[str], name: str, capsys: Capture) -> None:
    """One line with the file, the limit and the option."""
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert name in line and "unpacks to more than" in line and "--unpack-mib N" in line


@contextmanager
def _little_memory() -> Iterator[None]:
    """What is kept without a bound does not get it."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + 64 * MIB, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("what", [LINE, b"\0"], ids=["lines", "one line"])
@pytest.mark.parametrize("form", FORMATS)
def test_events_stop_at_the_ratio(
    form: str, what: bytes, tmp_path: Path, capsys: Capture
) -> None:
    name = f"events/stap.jsonl.{form}"
    run = _run_with(tmp_path, name, bomb(form, what))
    commands = ["explain", "report", "hist", "check", "export --to csv"]
    for command in commands if form == "gz" and what == LINE else commands[:1]:
        with _little_memory() if command == "explain" else nullcontext():
            _refused([*command.split(), str(run)], name, capsys)
    assert not (run / "chains.json").exists()


def test_a_redacted_copy_stops_there(tmp_path: Path, capsys: Capture) -> None:
    run = _run_with(tmp_path, "events/stap.jsonl.gz", bomb("gz"))
    words = ["export", str(run), "--redact", "-o", str(tmp_path / "out")]
    _refused(words, "stap.jsonl.gz", capsys)
    (run / "events/stap.jsonl.gz").unlink()
    (run / "kallsyms.gz").write_bytes(bomb("gz"))
    _refused(words, "kallsyms.gz", capsys)
    assert not (tmp_path / "out").exists()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("form", ["gz", "zst"])
def test_bare_events_and_logs_stop_there(
    form: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    events, log = tmp_path / "stalls", tmp_path / "log"
    events.write_bytes(bomb(form))
    log.write_bytes(FORMATS[form](b"all is well\n" * (80 * MIB // 12)))
    for words in (["explain", str(events)], ["explain", "--log", str(log)]):
        _refused(words, words[-1], capsys)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(events.read_bytes())))
    assert main(["explain", "-"]) == 2
    assert OVER in capsys.readouterr().err


def test_the_option_is_the_bound_instead(tmp_path: Path, capsys: Capture) -> None:
    """In all, whatever the ratio is."""
    name = "events/stap.jsonl.gz"
    run = _run_with(tmp_path, name, bomb("gz"))
    assert main(["explain", str(run), "--unpack-mib", "81"]) == 0
    capsys.readouterr()
    _refused(["explain", str(run), "--unpack-mib", "70"], name, capsys)
    assert main(["explain", str(run), "--unpack-mib", "0"]) == 2


def test_what_was_recorded_is_far_below() -> None:
    """No compressed file of the tree comes near the ratio."""
    for recorded in sorted((PROJECT / "tests/data").rglob("*.gz")):
        packed_bytes = recorded.read_bytes()
        assert len(gzip.decompress(packed_bytes)) < len(packed_bytes) * 100, recorded


def test_a_stored_run_has_a_bound(tmp_path: Path) -> None:
    (tmp_path / "stored").mkdir()
    (tmp_path / "stored/truth.jsonl.gz").write_bytes(bomb("gz"))
    with pytest.raises(UserError, match=OVER):
        stored_run.unpack(tmp_path / "stored", tmp_path / "to")


def test_an_interval_of_a_log_has_a_bound(tmp_path: Path) -> None:
    """The payloads of an HdrHistogram log are compressed, too."""
    packed_data = zlib.compress(bytes(256 * MIB))
    head = struct.pack(">II", 0x1C849304, len(packed_data))
    text = base64.b64encode(head + packed_data).decode()
    log = tmp_path / "writer.hlog"
    log.write_text(f"{HEADER}0.000,1.000,1.000,{text}\n")
    with _little_memory():
        found = hlog.read_log(log)
    assert found.latencies is None
    assert [one.text for one in found.problems] == ["not an interval (ValueError)"]


@settings(deadline=None, max_examples=50, suppress_health_check=list(HealthCheck))
@given(
    st.integers(1, 3 * MIB),
    st.integers(1, 2 * MIB),
    st.integers(1, 60),
    st.sampled_from(["gz", "xz", "bz2"]),
)
def test_no_byte_beyond_the_bound_is_given(
    size: int, most: int, ratio: int, form: str
) -> None:
    data = FORMATS[form](b"x" * size)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(compressed, "ANY_RATIO_BYTES", 4096)
        content, _ = compressed._decompressed(io.BytesIO(data), Bound(most, ratio))
        given_bytes = 0
        try:
            for piece in compressed.chunks(content):
                given_bytes += len(piece)
        except TooLargeError:
            assert size > min(most, max(4096, len(data) * ratio))
        else:
            assert given_bytes == size <= most
        assert given_bytes <= most


@pytest.mark.parametrize("form", FORMATS)
def test_processes_that_unpack_together(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They read what one does, damaged or not, and blocks however small."""
    run = build.run_dir(tmp_path / "run", build.cascade())
    lines = (run / "events/stap.jsonl").read_bytes().splitlines(keepends=True)
    content = b"".join([*lines[:-1], b"garbage\n", *lines[:-1], lines[-1]])
    path = tmp_path / f"stap.jsonl.{form}"
    monkeypatch.setattr(compressed, "CHUNK_BYTES", 700)
    whole_data = FORMATS[form](content)
    # Of zstd, so little is one block, and nothing stands before damage.
    for data in (whole_data, whole_data[:-9])[: 1 if form == "zst" else 2]:
        path.write_bytes(data)
        share(monkeypatch, 1)
        whole = read_stream(path)
        assert whole.writes and bool(whole.damage) == (data != whole_data)
        for block in (1000, 100_000):
            monkeypatch.setattr(packed, "BLOCK_BYTES", block)
            for processes in (1, 2, 3):
                share(monkeypatch, processes)
                again = read_stream(path)
                assert (
                    contents(again) == contents(whole) and again.damage == whole.damage
                )


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
)
def test_nothing_stays_whatever_ends_it(number: signal.Signals, tmp_path: Path) -> None:
    run = _run_with(tmp_path, "events/stap.jsonl.gz", bomb("gz"))
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    command = [sys.executable, "-m", "writestall", "explain", str(run)]
    with subprocess.Popen(
        [*command, "--unpack-mib", "1000"],
        env=os.environ | {"TMPDIR": str(scratch)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as explain:
        _until_it_unpacks(explain.pid, "stap.jsonl.gz")
        explain.send_signal(number)
        _, said = explain.communicate()
    if number == signal.SIGKILL:
        assert explain.returncode == -number
    else:
        assert (explain.returncode, said) == (130, "writestall: interrupted\n")
    assert not list(scratch.iterdir())
    assert not list(run.glob(".*"))


def _until_it_unpacks(pid: int, name: str) -> None:
    limit_s = time.monotonic() + 120
    while time.monotonic() < limit_s:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                if link.readlink().name == name:
                    time.sleep(0.2)
                    return
            except OSError:
                continue
        time.sleep(0.01)
    raise AssertionError("it never read its events")
