# SPDX-License-Identifier: GPL-2.0-only
"""This test will make tables from recordings of disks, in the format of every tool."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from labrun.scenario.delay_table import main

Capture = pytest.CaptureFixture[str]
MS, US = 1_000_000, 1_000


@pytest.fixture
def log(tmp_path: Path) -> Callable[[str | bytes, str], Path]:
    """Write a log with this content and name."""

    def write(content: str | bytes, name: str = "log") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


Log = Callable[..., Path]


def ends_ns(capsys: Capture, *words: object) -> tuple[int, int, str]:
    """The smallest and the largest delay of the table, and the messages."""
    assert main([str(word) for word in words]) == 0
    out, err = capsys.readouterr()
    name, *points = out.split()
    assert name == "table"
    first, last = points[0].split(":"), points[-1].split(":")
    assert (first[0], last[0]) == ("0", "1000000000")
    return int(first[1]), int(last[1]), err


def refused(capsys: Capture, *words: object) -> str:
    """The one line of a refusal."""
    assert main([str(word) for word in words]) == 2
    out, err = capsys.readouterr()
    (line,) = err.splitlines()
    assert out == ""
    return line


# fio's HOWTO, "Log File Formats": each line by version and options.
FIO = {
    "4 columns": "{ms}, {value}, {way}, 4096\n",
    "offset": "{ms}, {value}, {way}, 4096, 8192\n",
    "priority": "{ms}, {value}, {way}, 4096, 0x0000\n",
    "offset and priority": "{ms}, {value}, {way}, 4096, 8192, 0x4001\n",
    "issue time": "{ms}, {value}, {way}, 4096, 8192, 0, 1200345\n",
}


def fio_log(form: str, values: list[int], way: Callable[[int], int]) -> str:
    return "".join(
        FIO[form].format(ms=at * 10, value=value, way=way(at))
        for at, value in enumerate(values)
    )


@pytest.mark.parametrize("form", FIO)
def test_fio_3(form: str, log: Log, capsys: Capture) -> None:
    """Latencies in ns."""
    path = log(fio_log(form, [2 * MS, 7 * MS, 9 * MS], lambda at: 1))
    low, high, said = ends_ns(capsys, "fio", path)
    assert (low, high) == (2 * MS, 9 * MS)
    assert "3 lines used, 0 passed over (write 3)" in said and "taken as ns" in said


@pytest.mark.parametrize("form", ["4 columns", "offset"])
def test_fio_2(form: str, log: Log, capsys: Capture) -> None:
    """Latencies in us: read as ns the disk would be idle nearly all the time."""
    path = log(fio_log(form, [2_000, 7_000, 9_000], lambda at: 0))
    low, high, said = ends_ns(capsys, "fio", path)
    assert (low, high) == (2 * MS, 9 * MS) and "taken as us; --unit" in said
    low, high, said = ends_ns(capsys, "fio", path, "--unit", "ns")
    assert (low, high) == (2_000, 9_000)


def test_fio_direction(log: Log, capsys: Capture) -> None:
    """Reads and writes are counted, and one of them may be selected."""
    values = [at * MS for at in range(1, 9)]
    path = log(fio_log("priority", values, lambda at: at % 2))
    assert "(read 4, write 4)" in ends_ns(capsys, "fio", path)[2]
    low, high, said = ends_ns(capsys, "fio", path, "--direction", "write")
    assert (low, high) == (2 * MS, 8 * MS)
    assert "4 lines used, 4 passed over (write 4)" in said


def test_other_logs_of_fio_are_refused_by_name(log: Log, capsys: Capture) -> None:
    """--write_hist_log has a column for each bin; a bandwidth is not a latency."""
    bins = ", ".join(map(str, range(1216)))
    path = log(f"1000, 0, 4096, {bins}\n2000, 0, 4096, {bins}\n", "x_clat_hist.1.log")
    line = refused(capsys, "fio", path)
    assert f"{path}:1: 1219 columns" in line and "--write_lat_log" in line
    path = log(fio_log("priority", [5, 6], lambda at: 0), "x_bw.1.log")
    assert "a log of bw; want --write_lat_log" in refused(capsys, "fio", path)


def fio_json(part: dict[str, object], key: str = "clat_ns") -> str:
    none = {"total_ios": 0, key: {"min": 0, "max": 0}}
    job = {"jobname": "j", "read": none, "write": {"total_ios": 100, key: part}}
    return "fio: a warning\n" + json.dumps({"fio version": "fio-3.36", "jobs": [job]})


def test_json_of_fio(log: Log, capsys: Capture) -> None:
    """The bins of json+, else values between percentiles; us before 3.0."""
    bins = {str(3 * MS): 50, str(4 * MS): 49, str(80 * MS): 1}
    path = log(fio_json({"min": 3 * MS, "max": 80 * MS, "bins": bins}))
    low, high, said = ends_ns(capsys, "fio", path)
    assert (low, high) == (3 * MS, 80 * MS)
    assert "100 delays" in said and "median 3 ms" in said
    shares = {"50.000000": 4 * MS, "99.000000": 20 * MS}
    path = log(fio_json({"min": MS, "max": 70 * MS, "percentile": shares}))
    low, high, said = ends_ns(capsys, "fio", path)
    assert (low, high) == (MS, 70 * MS) and "median 4 ms" in said
    path = log(fio_json({"min": 1, "max": 70, "percentile": {"50.0": 4}}, "clat"))
    assert ends_ns(capsys, "fio", path)[:2] == (US, 70 * US)
    assert "json+" in refused(capsys, "fio", log(fio_json({"min": 1, "max": 2})))


BIOSNOOP = {
    "bpftrace": (
        "Attaching 4 probes...\n"
        "TIME(ms)     DISK          COMM             PID    LAT(ms)\n"
        "20           vda           my writer        71         12\n"
        "21           vda           jbd2/vda-8       72          3\n^C\n"
    ),
    "bpftrace 0.23": (
        "Attached 4 probes\n"
        "TIME(ms)     DISK ID        COMM             PID    LAT(ms)\n"
        "             MAJOR MINOR\n"
        "20           253   0        writer           71         12\n"
        "21           253   0        jbd2/vda-8       72          3\n"
    ),
    "bcc": (
        "TIME(s)     COMM        PID   DISK   T SECTOR     BYTES   QUE(ms) LAT(ms)\n"
        "0.000000    my writer   71    vda    W 4242       4096       0.02   12.00\n"
        "0.004000    jbd2/vda-8   72    vda    W 4250       4096       0.00   3.00\n"
        "0.005000    cat   73    vda    R 12       4096       0.00   99.00\n"
    ),
    "libbpf": (
        "Tracing block device I/O... Hit Ctrl-C to end.\n"
        "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   LAT(ms)\n"
        "0.000000    my writer      71      vda     WS   4242       4096     12.000\n"
        "0.004000    jbd2/vda-8     72      vda     FWFS 4250       4096      3.000\n"
        "0.005000    cat            73      vda     RA   12         4096     99.000\n"
    ),
}


@pytest.mark.parametrize("form", BIOSNOOP)
def test_biosnoop(form: str, log: Log, capsys: Capture) -> None:
    """Header lines and ^C are skipped; each of two columns may have the direction."""
    directed = ["--direction", "write"] if form in ("bcc", "libbpf") else []
    path = log(BIOSNOOP[form])
    low, high, said = ends_ns(capsys, "biosnoop", path, *directed)
    assert (low, high) == (3 * MS, 12 * MS) and "2 lines used" in said
    passed = len(BIOSNOOP[form].splitlines()) - 2
    assert f"{passed} passed over" in said


def test_biosnoop_takes_no_log_of_others(log: Log, capsys: Capture) -> None:
    """The last column of fio and blkparse is a number, too, and no delay."""
    for text in (
        fio_log("offset", [2 * MS, 7 * MS], lambda at: 1),
        "8,0 1 2 0.000001829 697 D W 223490 + 8\n" * 2,
    ):
        assert "not a log of biosnoop" in refused(capsys, "biosnoop", log(text))


BIOLATENCY = {
    "bcc": (
        "Tracing block device I/O... Hit Ctrl-C to end.\n^C\n"
        "     usecs               : count     distribution\n"
        "         0 -> 1          : 0        |                    |\n"
        "       512 -> 1023       : 30       |********************|\n"
        "      1024 -> 2047       : 10       |******              |\n"
    ),
    "bpftrace": (
        "Attaching 4 probes...\nTracing block device I/O... Hit Ctrl-C to end.\n\n"
        "@usecs: \n"
        "[512, 1K)             30 |@@@@@@@@@@@@@@@@@@@@@@|\n"
        "[1K, 2K)              10 |@@@@@@@               |\n"
    ),
}


@pytest.mark.parametrize("form", BIOLATENCY)
def test_biolatency(form: str, log: Log, capsys: Capture) -> None:
    """Uniform inside each bucket; the unit is that of the heading."""
    path = log(BIOLATENCY[form])
    low, high, said = ends_ns(capsys, "biolatency", path)
    assert (low, high) == (512 * US, 2048 * US) and "40 delays" in said
    path = log(BIOLATENCY[form].replace("usecs", "msecs"))
    assert ends_ns(capsys, "biolatency", path)[1] == 2048 * MS


BLKPARSE = (
    "253,0    1        1     0.000000000   71  Q   W 8192 + 64 [writer]\n"
    "253,0    1        2     0.000010000   71  D   W 8192 + 64 [writer]\n"
    "253,0    1        3     0.000020000   72  D  FN [kworker/1:1H]\n"
    "253,0    0        4     0.002010000    0  C   W 8192 + 16 [0]\n"
    "253,0    0        5     0.004020000    0  C  FN 0 [0]\n"
    "253,0    0        6     0.006010000    0  C   W 8208 + 48 [0]\n"
    "253,0    1        7     0.010000000   71  D   W 512 + 8 [writer]\n"
    "253,0    1        8     0.010500000   71  R   W 512 + 8 [0]\n"
    "253,0    1        9     0.011000000   71  D   W 512 + 8 [writer]\n"
    "253,0    1       10     0.012000000   71  D FWS 900 + 8 [writer]\n"
    "253,0    0       11     0.013000000    0  C   W 512 + 8 [0]\n"
    "253,0    0       12     0.021000000    0  C FWS 900 + 8 [0]\n"
    "253,0    1       13     0.030000000   72  D  FN [kworker/1:1H]\n"
    "253,0    0       14     0.031000000    0  C  FN 18446744073709551615 [0]\n"
    "CPU0 (253,0):\n Reads Queued:           0,        0KiB\n"
)


def test_blkparse(log: Log, capsys: Capture) -> None:
    """A request ends with its last part; a requeued one starts again."""
    low, high, said = ends_ns(capsys, "blkparse", log(BLKPARSE))
    assert (low, high) == (2 * MS, 9 * MS) and "(write 3)" in said
    assert "3 delays" in said and "median 6 ms" in said
    low, high, said = ends_ns(capsys, "blkparse", log(BLKPARSE), "--direction", "flush")
    assert (low, high) == (MS, 4 * MS) and "(flush 2)" in said


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress, bytes])
def test_compressed_and_standard_input(
    pack: Callable[[bytes], bytes],
    log: Log,
    capsys: Capture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = pack(b"4\n9\n1\n")
    assert ends_ns(capsys, "numbers", log(data), "--unit", "us")[:2] == (US, 9 * US)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    low, high, said = ends_ns(capsys, "numbers", "-", "--unit", "us")
    assert (low, high) == (US, 9 * US) and "standard input: 3 lines used" in said


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress])
def test_what_unpacks_to_much_is_refused(
    pack: Callable[[bytes], bytes], log: Log, capsys: Capture
) -> None:
    """By the option; its default is a GiB."""
    path = log(pack(b"4\n" * (1 << 20)))
    line = refused(capsys, "numbers", path, "--unpack-mib", "1")
    assert f"{path}: more than 1 MiB, unpacked; --unpack-mib N allows N" in line
    assert ends_ns(capsys, "numbers", path, "--unpack-mib", "2")[0] == 4


def test_bad_lines_have_file_and_number(log: Log, capsys: Capture) -> None:
    """The first ones are printed, all are counted; a log with no others is refused."""
    path = log("5\n6\nx y\n\n-3\nnan\n7\nlast\n")
    _, _, said = ends_ns(capsys, "numbers", path)
    assert f"{path}:3: passed over: 'x y'" in said and f"{path}:5:" in said
    assert "3 lines used, 4 passed over" in said
    for kind in ("fio", "biosnoop", "biolatency", "blkparse", "numbers"):
        line = refused(capsys, kind, log("all is well\nx\n"))
        assert "fewer than 2 delays" in line and f"{path}:1:" in line


def test_the_picture_of_the_distribution(log: Log, capsys: Capture) -> None:
    """Its rows add up, and the longest is where most delays are."""
    path = log("".join(f"{at}\n" for at in [5000] * 90 + [80_000] * 10))
    _, _, said = ends_ns(capsys, "numbers", path)
    rows = [line for line in said.splitlines() if " % " in line and "#" in line]
    shares = [float(row.split("%")[0].split()[-1]) for row in rows]
    assert abs(sum(shares) - 100) < 2 and max(shares) == shares[0] > 85
