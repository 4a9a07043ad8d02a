# SPDX-License-Identifier: GPL-2.0-only
"""test_rule: translate a scenario's [[inject]] into biodelay's attributes, or refuse
it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from ruled import LAZY
from test_scenario import GOOD, parse, refusal, run

from labrun.injectors import biodelay
from labrun.scenario import reading
from labrun.scenario.rule import Inject, attributes
from support import PROJECT

BAD = [
    (
        'delay_us = 300_000\ndelay = "lognormal 1ms 0.5"',
        "delay: delay_us is set too; remove one",
    ),
    (
        'delay = "lognormal 1ms"',
        "delay: want one of: normal MEAN STDDEV, lognormal MEDIAN SIGMA, pareto MINIMUM"
        " ALPHA, uniform LEAST MOST",
    ),
    (
        'delay = "lognormal 1 0.5"',
        "delay: '1' is no duration: a number and ns, us, ms or s, as in 1.5ms",
    ),
    (
        'delay_us = 300_000\nseries = ["0"]',
        "series: delay_us is set too; remove one",
    ),
    (
        'series = ["0 1:"]',
        "series[0]: want MS PPB:NS PPB:NS ..., or MS alone, got '0 1:'",
    ),
    (
        "delay_us = 300_000\nburst_on_ms = 9",
        "burst_on_ms: longer than burst_period_ms, 0",
    ),
    (
        'delay_us = 300_000\nflags_any = ["FLUSH"]',
        "flags_any[0]: 'FLUSH' is not known, did you mean PREFLUSH?",
    ),
    (
        'delay_us = 300_000\ndisk = "journal"',
        "disk: the journal has no disk; set filesystem.external_journal = true",
    ),
]


@pytest.mark.parametrize(("instead", "message"), BAD)
def test_a_bad_rule_gets_one_line(instead: str, message: str) -> None:
    text = GOOD.replace("delay_us = 300_000", instead, 1)
    assert refusal(text) == f"x.toml: inject[0].{message}"


def test_only_ext4_can_have_its_journal_elsewhere() -> None:
    text = GOOD.replace('"ext4"', '"xfs"\nexternal_journal = true', 1)
    assert refusal(text) == ("x.toml: filesystem.external_journal: only ext4 has one")


def test_a_tmpfs_cannot_be_on_a_loop_device() -> None:
    text = GOOD.replace('"ext4"', '"tmpfs"\nloop = true', 1)
    assert refusal(text) == "x.toml: filesystem.loop: tmpfs has no disk"


def test_a_variant_must_keep_the_disk_that_a_rule_slows() -> None:
    text = GOOD.replace('"ext4"', '"ext4"\nexternal_journal = true', 1)
    text = text.replace("delay_us", 'disk = "journal"\ndelay_us', 1)
    assert parse(text).filesystem.external_journal
    variant = """
[[variant]]
name = "xfs"
purpose = "XFS."
filesystem = { type = "xfs" }
[variant.expect]
chain = []
stalled_writes_min = 0
stall_ms_min = 0
"""
    assert refusal(text + variant) == (
        "x.toml: inject[0].disk: the journal has no disk; set"
        " variant[0].filesystem.external_journal = true"
    )


def test_what_is_left_at_its_default_is_not_written() -> None:
    assert attributes(Inject(delay_us=7), 0, "vdb", 1) == {
        "device": "vdb",
        "order": "0",
        "seed": "1",
        "delay_us": "7",
    }


def test_everything_else_is() -> None:
    rule = Inject(
        delay="table 0:1 1000000000:2",
        submitter="jbd2/*",
        kind="kthread",
        ops=("write", "flush"),
        flags_any=("META", "FUA"),
        flags_none=("RAHEAD",),
        mode="defer",
        lanes=2,
        probability=3,
        correlation=4,
        space_bytes=5,
        burst_on_ms=6,
        burst_period_ms=7,
    )
    made = attributes(rule, 1, "vdb", 9)
    assert made["delay"] == "table 0:1 1000000000:2"
    assert made["ops"] == "write,flush"
    assert made["flags_any"] == "META,FUA"
    assert made["burst"] == "6 7"
    assert made["space"] == "5"
    # The module has all of them: a guest test compares it with its document.
    known = re.findall(
        r"^\| `(\w+)` \|", (PROJECT / "kmod/README.md").read_text(), re.M
    )
    assert set(made) <= set(known)


def test_a_formula_becomes_a_table_that_fits_into_an_attribute() -> None:
    made = attributes(Inject(delay="lognormal 8ms 0.8"), 0, "vdb", 1)["delay"]
    points = [tuple(map(int, pair.split(":"))) for pair in made.split()[1:]]
    assert made.startswith("table 0:") and len(made) <= 4095
    assert points == sorted(points)
    assert points[-1][0] == 10**9


def test_a_series_is_written_in_pieces_of_a_page() -> None:
    segments = tuple(f"{ms} 0:{ms} 1000000000:{ms + 1}" for ms in range(0, 50_000, 100))
    made = attributes(Inject(series=(*segments, "50000")), 0, "vdb", 1)["series"]
    pieces = list(biodelay.pieces(made))
    assert max(map(len, pieces)) <= 4095 and len(pieces) > 2
    assert " ".join(pieces) == made
    firsts = [int(piece.split()[0]) for piece in pieces]
    assert firsts == sorted(
        firsts
    )  # a piece replaces what is at its first time or later
    assert list(biodelay.pieces("jbd2/*")) == ["jbd2/*"]


def test_rules_of_a_scenario_have_seeds_of_their_own() -> None:
    second = '\n[[inject]]\nsubmitter = "kworker/*"\ndelay_us = 5\n\n[[workload]]'
    found = parse(GOOD.replace("\n[[workload]]", second, 1))
    first, other = biodelay.rules(found, "vdb", None)
    assert (first["order"], first["seed"]) == ("0", "1")
    assert (other["order"], other["seed"]) == ("1", "2")


def test_a_rule_slows_the_disk_it_names() -> None:
    text = GOOD.replace('"ext4"', '"ext4"\nexternal_journal = true', 1)
    second = '\n[[inject]]\ndisk = "journal"\nsubmitter = "jbd2/*"\ndelay_us = 5\n'
    found = parse(text.replace("\n[[workload]]", f"{second}\n[[workload]]", 1))
    made = biodelay.rules(found, "vdb", "sda")
    assert [rule["device"] for rule in made] == ["vdb", "sda"]


def test_only_a_disk_that_the_run_itself_swaps_to_is_forced() -> None:
    found, _ = reading.load(reading.find("memory-reclaim"))
    (rule,) = biodelay.rules(found, "vdb", None)
    assert list(rule.items())[:2] == [("force", "vdb"), ("device", "vdb")]
    assert "force" not in biodelay.rules(parse(GOOD), "vdb", None)[0]


def test_dry_run_puts_the_file_system_on_the_loop_device(tmp_path: Path) -> None:
    shown = run(
        "queue-full", "--dry-run", "--disk", "/dev/null", "--build", str(tmp_path)
    )
    lines = shown.stdout.splitlines()
    assert lines[:5] == [
        "modprobe loop",
        "losetup --find --show --direct-io=on /dev/null",
        "sh -c 'echo 4 >/sys/class/block/loop0/queue/nr_requests'",
        f"mkfs.ext4 -q -O '^has_journal' {LAZY} /dev/loop0",
        "mount -t ext4 /dev/loop0 MOUNTPOINT",
    ]
    assert any("echo null >" in line and "/rule0/device" in line for line in lines)


def test_the_kept_record_is_utf_8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The module passes a task's name unchanged; a name may have any byte."""
    source, truth = tmp_path / "record", tmp_path / "truth.jsonl"
    source.write_bytes(
        '{"comm":"é\xff"}\n'.encode("latin-1") + b'{"comm":"\xc3\xa9"}\n'
    )
    monkeypatch.setattr(biodelay, "RECORD", source)
    with truth.open("wb") as kept:
        biodelay.Record(kept).drain()
    lines = truth.read_text(encoding="utf-8").splitlines()
    assert lines == ['{"comm":"\ufffd\ufffd"}', '{"comm":"é"}']
