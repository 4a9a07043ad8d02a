# SPDX-License-Identifier: GPL-2.0-only
"""test_core_losses: whatever bpf/core loses is counted, and each count is printed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support import PROJECT

CORE = PROJECT / "bpf/core"
PROBES = sorted((CORE / "probes").glob("*.[ch]"))
# What fails where a map, the ring buffer or the memory for stacks is full, and what
# must follow: a count where a call fails, where its result is none, or in the function
# that is given its result.
CALL = re.compile(
    r"\b(?:bpf_map_update_elem|bpf_ringbuf_(?!query)\w*|bpf_get_(?:task_)?stack)\("
)
COUNTED = re.compile(
    r"if \(bpf_(?:map_update_elem|ringbuf_output)\([^;{]*\)\)(?: \{)?\s+lose\("
    r"|if \(bpf_map_update_elem\([^;{]*, BPF_NOEXIST\)\) \{"  # and then BPF_ANY
    r"|(\w+) = bpf_ringbuf_reserve\([^;]*;[^{]*if \(!\1\) \{\s+lose\("
    r"|frames_in\(bpf_get_(?:task_)?stack\(|^\tbpf_ringbuf_submit\(",
    re.M,
)
FRAMES_IN = re.compile(r" frames_in\(.*\n\{\n(?:(?!^\}).*\n)*?.*\blose\(", re.M)
COUNTER = re.compile(r"^\tunsigned long long (\w+);$", re.M)
LOSSES = re.compile(r"^struct losses \{\n(.*?)^\};", re.M | re.S)
# Prints each counter after it grew by its place, and all again, which adds nothing;
# what was missed is given since the last time.
MAIN = """
#include "output/events.h"
#include "output/json.h"

int main(void)
{
	static struct losses lost;
	unsigned long long *counter = (void *)&lost;

	for (unsigned int i = 0; i < sizeof(lost) / sizeof(*counter); i++) {
		counter[i] = i + 1;
		print_losses(&lost);
	}
	print_losses(&lost);
	print_missed(1000);
	print_missed(0);
	print_missed(1);
	print_end();
	json_flush();
	return 0;
}
"""


@pytest.mark.parametrize("path", PROBES, ids=lambda path: path.name)
def test_what_may_fail_is_counted(path: Path) -> None:
    text = path.read_text()
    assert len(CALL.findall(text)) == len(COUNTED.findall(text))


def test_a_stack_that_the_kernel_does_not_give_is_counted() -> None:
    assert FRAMES_IN.search((CORE / "probes/state.h").read_text())


def test_each_count_is_printed(tmp_path: Path) -> None:
    found = LOSSES.search((CORE / "rows.h").read_text())
    assert found
    counters = COUNTER.findall(found[1])
    (tmp_path / "main.c").write_text(MAIN)
    names = ("calls.c", "paths.c", "log.c", "scripts.c")
    sources = [tmp_path / "main.c", *(CORE / name for name in names)]
    sources += sorted((CORE / "output").glob("*.c"))
    program = tmp_path / "losses"
    inputs = (CORE / "call_table.py", PROJECT / "docs/calls.toml")
    table = [sys.executable, *map(str, inputs)]
    with (tmp_path / "call_table.h").open("wb") as file:
        subprocess.run(table, stdout=file, check=True)
    flags = ["-D_GNU_SOURCE", "-std=c11", "-Wall", f"-I{CORE}", f"-I{tmp_path}"]
    subprocess.run(
        ["gcc", *flags, "-o", program, *sources, "-lbpf", "-lelf", "-lz"], check=True
    )
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    *lost, end = map(json.loads, done.stdout.splitlines())
    assert {event["ev"] for event in lost} == {"lost"}
    counts = [event["count"] for event in lost]
    assert counts == [*range(1, len(counters) + 1), 1000, 1]
    assert len({event["why"] for event in lost}) == len(counters) + 1
    assert end["lost"] == sum(counts)
