# SPDX-License-Identifier: GPL-2.0-only
"""test_scenario: load scenario files, or refuse them with one line that names the
mistake."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labrun.scenario import keys, reading
from labrun.scenario.keys import Workload
from support import PROJECT
from writestall_base.errors import UserError

GOOD = """
name = "x"
purpose = "A test."
duration_s = 5

[kernel]
min = "4.19"

[filesystem]
type = "ext4"

[[inject]]
submitter = "jbd2/*"
delay_us = 300_000

[[workload]]
name = "gc"
write_bytes = 200
interval_us = 1_000

[expect]
chain = ["journal_buffer", "device_io"]
stalled_writes_min = 3
stall_ms_min = 500
"""


def parse(text: str) -> keys.Scenario:
    return reading.parse(text, "x.toml", "x")


def refusal(text: str) -> str:
    with pytest.raises(UserError) as caught:
        parse(text)
    (line,) = caught.value.lines
    assert "\n" not in line
    assert line.isprintable()
    return line


def test_a_scenario_with_only_the_required_keys_has_the_documented_defaults() -> None:
    found = parse(GOOD)
    assert found.inject[0].mode == "sleep"
    assert found.inject[0].ops == ()
    (workload,) = found.workload
    assert isinstance(workload, Workload)
    assert workload.writers == 1
    assert found.trace.floor_us == 1_000
    assert found.sysctl == {}
    assert found.seed == 1
    assert found.expect
    assert found.expect.writer_untouched


# Each row: a text of GOOD, its replacement, the whole message.
BAD = [
    (
        "delay_us = 300_000",
        "delay_ms = 300",
        "x.toml: inject[0].delay_ms: unknown key, did you mean delay_us?",
    ),
    (
        "delay_us = 300_000",
        'delay_us = "300 ms"',
        "x.toml: inject[0].delay_us: want a whole number of us, got '300 ms'",
    ),
    (
        "delay_us = 300_000",
        "delay_us = 0.3",
        "x.toml: inject[0].delay_us: want a whole number of us, got 0.3",
    ),
    (
        "delay_us = 300_000",
        "delay_us = true",
        "x.toml: inject[0].delay_us: want a whole number of us, got true",
    ),
    (
        "delay_us = 300_000",
        "delay_us = 0",
        "x.toml: inject[0].delay_us: want 1 to 30000000 us, got 0",
    ),
    (
        "delay_us = 300_000",
        "delay_us = 31_000_000",
        "x.toml: inject[0].delay_us: want 1 to 30000000 us, got 31000000",
    ),
    (
        "delay_us = 300_000",
        "",
        "x.toml: inject[0].delay_us: missing: delay of a bio; or give delay or series",
    ),
    (
        'submitter = "jbd2/*"',
        "",
        "x.toml: inject[0].submitter: '*' matches the writer, latwriter;"
        " narrow it or set expect.writer_untouched = false",
    ),
    (
        'submitter = "jbd2/*"',
        'submitter = "jbd2/*"\nops = ["writes"]',
        "x.toml: inject[0].ops[0]: 'writes' is not known, did you mean write?",
    ),
    (
        'submitter = "jbd2/*"',
        'submitter = "jbd2/*"\nops = "write"',
        "x.toml: inject[0].ops: want a list, got 'write'",
    ),
    (
        'type = "ext4"',
        'type = "ext5"',
        "x.toml: filesystem.type: 'ext5' is not known, did you mean ext4?",
    ),
    (
        "duration_s = 5",
        "duration = 5",
        "x.toml: duration: unknown key, did you mean duration_s?",
    ),
    (
        "duration_s = 5",
        "duration_s = 5\nsysctl = 5",
        "x.toml: sysctl: want a table, got 5",
    ),
    (
        "[kernel]",
        '[sysctl]\n"vm/../../etc/passwd" = 1\n[kernel]',
        "x.toml: sysctl.vm/../../etc/passwd: want a sysctl's name"
        " like vm.dirty_expire_centisecs",
    ),
    (
        'min = "4.19"',
        'min = "4.19"\nmax = "4.4"',
        "x.toml: kernel.max: older than kernel.min, 4.19",
    ),
    (
        'min = "4.19"',
        "min = 4.19",
        "x.toml: kernel.min: want text, got 4.19",
    ),
    ('name = "x"', 'name = "y"', "x.toml: name: want 'x', the file's name"),
    (
        'name = "gc"',
        'name = "../gc"',
        "x.toml: workload[0].name: want lower-case words joined by hyphens,"
        " got '../gc'",
    ),
    (
        "[[workload]]",
        "[workload]",
        "x.toml: workload: want a list, got a table",
    ),
    (
        "write_bytes = 200",
        "write_bytes = 200\nregion_bytes = 100",
        "x.toml: workload[0].region_bytes: smaller than one write",
    ),
    (
        "[expect]",
        "[trace]\nfloor_us = 2\nstall_us = 1\n[expect]",
        "x.toml: trace.stall_us: shorter than trace.floor_us",
    ),
    (
        '"journal_buffer"',
        '"journal_bufer"',
        "x.toml: expect.chain[0]: 'journal_bufer' is not known,"
        " did you mean journal_buffer?",
    ),
    (
        "[expect]",
        "[expects]",
        "x.toml: expects: unknown key, did you mean expect?",
    ),
    (
        "[kernel]",
        '[queue]\n"../../../uevent" = 1\n[kernel]',
        "x.toml: queue.../../../uevent: want a file of /sys/block/DISK/queue",
    ),
    (
        "duration_s = 5",
        '"\\u001b[2J" = 5',
        "x.toml: \\x1b[2J: unknown key; known: cgroup, duration_s, expect, filesystem,"
        " inject, injectors, kernel, machine, memory, name, purpose, queue, seed,"
        " sysctl, trace, variant, workload",
    ),
    (
        "duration_s = 5",
        "duration_s = ",
        "x.toml: not TOML: Invalid value (at line 4, column 14)",
    ),
    (
        "duration_s = 5",
        "duration_s = 1" + "0" * 300,
        "x.toml: duration_s: want 1 to 86400 s, got a number of too many digits",
    ),
]


@pytest.mark.parametrize(("text", "instead", "message"), BAD)
def test_bad_input_gets_one_line_that_names_place_and_remedy(
    text: str, instead: str, message: str
) -> None:
    assert text in GOOD
    assert refusal(GOOD.replace(text, instead, 1)) == message


def test_deep_nesting_and_huge_numbers_are_refused_not_crashed_on() -> None:
    refusal("x = " + "[" * 100_000)
    refusal("x = " + "9" * 10_000)
    refusal("x" + ".x" * 8_000 + " = 1")


def test_an_empty_text_names_the_first_missing_key() -> None:
    assert refusal("").startswith("x.toml: name: missing: ")


def toml_value(value: Any) -> str:
    """A Python value as TOML text."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        escaped = "".join(
            char if char.isalnum() and char.isascii() else f"\\U{ord(char):08x}"
            for char in value
        )
        return f'"{escaped}"'
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(entry) for entry in value) + "]"
    pairs = (
        f"{toml_value(str(key))} = {toml_value(entry)}" for key, entry in value.items()
    )
    return "{" + ", ".join(pairs) + "}"


KEYS = st.sampled_from(
    [
        "name",
        "purpose",
        "duration_s",
        "kernel",
        "filesystem",
        "workload",
        "expect",
        "inject",
        "sysctl",
        "trace",
        "seed",
        "min",
        "max",
        "type",
        "delay_us",
        "ops",
        "mode",
    ]
)
# TOML files cannot have surrogates.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES = st.recursive(
    st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS | TEXT, inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.dictionaries(KEYS | TEXT, VALUES, max_size=6))
@settings(max_examples=400)
def test_no_table_makes_the_loader_crash(table: dict[str, Any]) -> None:
    text = "".join(f"{toml_value(key)} = {toml_value(table[key])}\n" for key in table)
    refusal(text)


@given(st.sampled_from(GOOD.splitlines()), VALUES)
@settings(max_examples=400)
def test_no_value_of_a_good_file_makes_the_loader_crash(line: str, value: Any) -> None:
    name = line.partition(" = ")[0]
    text = (
        GOOD.replace(line, f"{name} = {toml_value(value)}", 1)
        if " = " in line
        else GOOD
    )
    try:
        parse(text)
    except UserError as refused:
        assert all(row.isprintable() for row in refused.lines)


@given(st.text(st.characters(exclude_categories=["Cs"])))
@settings(max_examples=200)
def test_no_text_makes_the_loader_crash(text: str) -> None:
    refusal(text)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROJECT / "repro/run"), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_list_shows_every_scenario_with_its_sentence_and_its_chain() -> None:
    listed = run("--list")
    assert listed.returncode == 0
    lines = listed.stdout.splitlines()
    names = [line.split()[0] for line in lines[::2]]
    assert names == sorted(path.stem for path in reading.SCENARIOS.glob("*.toml"))
    assert all(line.endswith(".") for line in lines[::2])
    shown = dict(zip(names, (line.split(": ")[1] for line in lines[1::2]), strict=True))
    assert shown["page-lock"] == "page_lock > journal_buffer > device_io"
    assert shown["healthy"] == "no stall"


@pytest.mark.parametrize("path", sorted(reading.SCENARIOS.glob("*.toml")))
def test_every_scenario_of_the_tree_is_good(path: Path) -> None:
    assert run(path.stem, "--check").returncode == 0


def test_a_misspelt_scenario_is_refused_with_a_suggestion() -> None:
    refused = run("jornal-buffer", "--check")
    assert refused.returncode == 2
    assert refused.stderr == (
        "repro/run: scenario 'jornal-buffer' is not known,"
        " did you mean journal-buffer? (see ./writestall scenarios)\n"
    )


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(b'name = "\xff"')
    refused = run(str(path), "--check")
    assert refused.returncode == 2
    assert refused.stderr == (
        f"repro/run: {path}: byte 8 is not UTF-8; save it as UTF-8\n"
    )


def test_a_missing_file_a_folder_and_a_huge_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "huge.toml").write_bytes(b"#" * (reading.MAX_FILE_BYTES + 1))
    for name in ("missing.toml", "folder.toml", "huge.toml"):
        refused = run(str(tmp_path / name), "--check")
        assert refused.returncode == 2
        assert refused.stderr.count("\n") == 1


def test_dry_run_prints_every_command_and_touches_nothing(tmp_path: Path) -> None:
    shown = run(
        "journal-buffer", "--dry-run", "--disk", "/dev/null", "--build", str(tmp_path)
    )
    lines = shown.stdout.splitlines()
    rule = [line for line in lines if "/biodelay/rule0" in line]
    others = [line for line in lines if line not in rule]
    assert [line.split()[0].rpartition("/")[2] for line in others] == [
        "mkfs.ext4",
        "mount",
        "sysctl",
        "sysctl",
        "insmod",
        "trace",
        "latwriter",
    ]
    assert rule[0] == "mkdir /sys/kernel/config/biodelay/rule0"
    assert rule[-2].endswith("echo 300000 >/sys/kernel/config/biodelay/rule0/delay_us'")
    assert rule[-1] == "sh -c 'echo 1 >/sys/kernel/config/biodelay/rule0/enabled'"
    assert shown.returncode == 2  # nothing is built in tmp_path
    assert f"{tmp_path}/latwriter is missing" in shown.stderr


def test_help_names_every_exit_status() -> None:
    shown = run("--help")
    assert shown.returncode == 0
    for status in (0, 1, 2, 129, 130, 143):
        assert f"\n  {status:3}  " in shown.stdout
