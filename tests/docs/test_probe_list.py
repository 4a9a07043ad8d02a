# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare docs/probes.md with what the sources hang probes on."""

from __future__ import annotations

import re
from collections.abc import Iterator

from support import PROJECT

PAGE = (PROJECT / "docs/probes.md").read_text()
SOURCES = (
    *("stap/*.stp", "stap/lessons/*.stp", "stap/tapset/*.stp", "bpf/lessons/*.bt"),
    *("bpf/core/probes/*.c", "kmod/Kbuild", "trace/drill/cli.py"),
    *("trace/launcher/systemtap.py", "trace/watcher/own.py"),
)
# As libbpf, SystemTap, bpftrace, C, make and Python write the name of what is probed.
FORMS = [
    re.compile(form, re.MULTILINE)
    for form in (
        r'SEC\("(?:raw_tp|tp_btf|tp/\w+|fentry|kprobe)/(\w+)"\)',
        r'(?:kernel\.trace|kprobe\.function|PL_FUNCTION)\("(\w+)"',
        r"\b(?:raw)?tracepoint:\w+:(\w+)",
        r"\bk(?:ret)?probe:(\w+)",
        r'\{ "(\w+)", lk_',
        r'\b(?:begin|end|throttle)\[\] = "(\w+)"',
        r"^\t(\w+),\w+\)$",
        r"^\t\w+,(\w+)\)$",
        r'"--root", default="(\w+)"',
    )
]
TUPLES = re.compile(r'(?:OPTIONAL = |"page_locks": )\((.*)\)')
ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| (.*?) \|", re.MULTILINE)
Probe = tuple[str, str]  # the name, and the file that has it


def _probed() -> Iterator[Probe]:
    for pattern in SOURCES:
        for path in PROJECT.glob(pattern):
            text, file = path.read_text(), str(path.relative_to(PROJECT))
            for form in FORMS:
                yield from ((name, file) for name in form.findall(text))
            for names in TUPLES.findall(text):
                yield from ((name, file) for name in re.findall(r"\w+", names))


def _listed() -> Iterator[Probe]:
    for name, _, files in ROW.findall(PAGE):
        yield from ((name, file) for file in files.split(", "))


def test_the_list_of_probes_is_that_of_the_sources() -> None:
    assert sorted(set(_listed())) == sorted(set(_probed()))


def test_a_probe_that_nobody_listed_is_found() -> None:
    """In each of the languages."""
    planted = (
        'SEC("fentry/planted")',
        'SEC("tp/jbd2/planted")',
        'probe kernel.trace("planted")',
        'probe kprobe.function("planted").return',
        "kretprobe:planted {",
        "tracepoint:sched:planted {",
        '\tPL_FUNCTION("planted", 0, 1, true),',
        '\tchar begin[] = "planted";',
    )
    for line in planted:
        assert any(form.findall(line) == ["planted"] for form in FORMS), line
