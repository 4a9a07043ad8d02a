# SPDX-License-Identifier: GPL-2.0-only
"""test_attributes: kmod's attribute parsers under libFuzzer, ASan and UBSan.

WRITESTALL_FUZZ_S says for how many seconds; make fuzz sets it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support import PROJECT

HERE = Path(__file__).parent
KMOD = PROJECT / "kmod"
# What parses, prints and draws; the rest of the module talks to the kernel.
PARSERS = ("spec.c", "delay.c", "series.c", "quantiles.c", "names.c", "check.c")
SANITIZERS = "-fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all"
# The kernel's C (Makefile): signed numbers wrap, a pointer's sign does not matter.
KERNEL_C = "-std=gnu11 -fwrapv -Wall -Wno-pointer-sign -Wno-unused-function"
SECONDS = os.environ.get("WRITESTALL_FUZZ_S", "5")
MOST_BYTES = 12_000  # several attributes, each of a page
INCLUDED = re.compile(r"#include <((?:linux|asm)/\S+)>")
WORD = re.compile(r'"([A-Za-z_]+)"')


def _headers(folder: Path) -> None:
    """Each header of the kernel that the parsers include is shim.h."""
    for path in KMOD.glob("*.[ch]"):
        for name in INCLUDED.findall(path.read_text()):
            header = folder / name
            header.parent.mkdir(parents=True, exist_ok=True)
            header.write_text('#include "shim.h"\n')


def _table(points: int) -> str:
    """A distribution of that many points, 256 of which a rule can have."""
    return f"delay=table{' 0:0' * (points - 1)} 1000000000:1\n"


def _series(segments: int) -> str:
    """A series of that many times, 2048 of which a rule can have, in pages."""
    steps = range(0, segments, 700)
    pieces = (range(at, min(at + 700, segments)) for at in steps)
    lines = (" ".join(map(str, piece)) for piece in pieces)
    return "".join(f"series={line}\n" for line in lines)


def _inputs(folder: Path) -> None:
    """The corpus as libFuzzer reads it: a file for each input."""
    folder.mkdir()
    _, *inputs = (HERE / "attributes.txt").read_text().split("\n\n")
    inputs += [_table(256), _table(257), _series(2048), _series(2049)]
    for number, text in enumerate(inputs):
        (folder / str(number)).write_text(text)


def _dictionary(path: Path) -> None:
    """The words that a parser knows: names of attributes and of values."""
    names = re.findall(r"X\((\w+), ", (KMOD / "attrs.h").read_text())
    values = WORD.findall((KMOD / "names.h").read_text())
    words = [*(f"{name}=" for name in names), *values, "table ", "1000000000:"]
    path.write_text("".join(f'"{word}"\n' for word in words))


def _compiled(folder: Path, kmod: Path) -> Path:
    """The program that calls the parsers of a folder, in a folder with its corpus."""
    _headers(folder / "include")
    _inputs(folder / "corpus")
    _dictionary(folder / "words")
    sources = [HERE / "attributes.c", *(kmod / name for name in PARSERS)]
    command = ["clang", "-g", "-O1", *SANITIZERS.split(), *KERNEL_C.split()]
    command += [f"-I{folder / 'include'}", f"-I{HERE}", f"-I{kmod}"]
    command += ["-o", str(folder / "attributes"), *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr, done.stderr
    return folder


def _fuzzed(folder: Path, seconds: str) -> subprocess.CompletedProcess[str]:
    command = [str(folder / "attributes"), f"-max_total_time={seconds}"]
    command += [f"-max_len={MOST_BYTES}", f"-dict={folder / 'words'}"]
    command += [f"-artifact_prefix={folder}/", "-print_final_stats=1"]
    command += [str(folder / "corpus")]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_no_text_breaks_a_parser(tmp_path: Path) -> None:
    done = _fuzzed(_compiled(tmp_path, KMOD), SECONDS)
    assert done.returncode == 0, done.stderr[-4000:]
    ran = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    assert ran and int(ran[1]) > 1000, done.stderr[-1000:]
    print(f"fuzz: {ran[1]} texts of attributes in {SECONDS} s")


# A file of the module, its line, a wrong one, and what is said of it.
DEFECTS = (
    ("quantiles.c", "n == most", "0", "AddressSanitizer"),
    ("series.c", "n == BIODELAY_MAX_SEGMENTS", "0", "out of bounds"),
    ("series.c", "page[n++] = ' ';", ";", "what it shows"),
    ("spec.c", "spec->burst_period_ms = period;", "", "what it shows is refused"),
)


@pytest.mark.parametrize(("name", "right", "wrong", "said"), DEFECTS)
def test_a_defect_is_found(
    tmp_path: Path, name: str, right: str, wrong: str, said: str
) -> None:
    kmod = Path(shutil.copytree(KMOD, tmp_path / "kmod"))
    text = (kmod / name).read_text()
    assert text.count(right) == 1
    (kmod / name).write_text(text.replace(right, wrong))
    done = _fuzzed(_compiled(tmp_path, kmod), "60")
    assert done.returncode != 0
    assert said in done.stderr, done.stderr[-2000:]
