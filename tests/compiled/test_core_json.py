# SPDX-License-Identifier: GPL-2.0-only
"""test_core_json: what bpf/core/output/json.c writes is JSON, whatever it is given."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support import PROJECT

CORE = PROJECT / "bpf/core"
# Numbers at their bounds, and what stdin gives as a text, twice in an array.
MAIN = """
#include <stdio.h>

#include "output/json.h"

int main(void)
{
	static char text[1 << 20];
	size_t size = fread(text, 1, sizeof(text) - 1, stdin);

	json_begin("all");
	json_number("least", INT64_MIN);
	json_number("most", INT64_MAX);
	json_unsigned("unsigned", UINT64_MAX);
	json_number("zero", 0);
	json_known("unknown", -1);
	json_id("none", 0);
	json_text("text", text, size);
	json_open("items");
	json_item(text);
	json_item(text);
	json_close();
	json_open("objects");
	json_object("name", text);
	json_number("number", 1);
	json_object_end();
	json_object("name", text);
	json_object_end();
	json_close();
	json_end();
	json_flush();
	return 0;
}
"""
BYTES = bytes(range(1, 256))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("json")
    (folder / "main.c").write_text(MAIN)
    sources = [folder / "main.c", CORE / "output/json.c", CORE / "log.c"]
    flags = ["-D_GNU_SOURCE", "-std=c11", "-Wall", "-Werror", f"-I{CORE}"]
    made = folder / "program"
    subprocess.run(["gcc", *flags, "-o", made, *sources], check=True)
    return made


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (b"", ""),
        (BYTES[:127], BYTES[:127].decode()),
        (b'a "b" \\c', 'a "b" \\c'),
        ("ß€😀".encode(), "ß€😀"),
        (b"a\xff\xc3b\xed\xa0\x80", "a��b���"),
        (b"x" * 300_000, "x" * 300_000),  # more than is held before a write
        (b'"' * 100_000, '"' * 100_000),
    ],
    ids=["empty", "ascii", "quotes", "utf-8", "no-utf-8", "long", "long-quotes"],
)
def test_an_event_is_a_line_of_json(program: Path, given: bytes, text: str) -> None:
    done = subprocess.run([program], input=given, capture_output=True, check=True)
    assert done.stdout.count(b"\n") == 1
    assert json.loads(done.stdout) == {
        "ev": "all",
        "least": -(1 << 63),
        "most": (1 << 63) - 1,
        "unsigned": (1 << 64) - 1,
        "zero": 0,
        "unknown": None,
        "none": None,
        "text": text,
        "items": [text, text],
        "objects": [{"name": text, "number": 1}, {"name": text}],
    }


def test_a_full_disk_ends_it_in_one_line(program: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [program], input=b"x", stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 1
    assert done.stderr.endswith(b"cannot write: No space left on device\n")
    assert done.stderr.count(b"\n") == 1
