# SPDX-License-Identifier: GPL-2.0-only
"""test_dm_delay: translate rules of a scenario into dm-delay's tables, or refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruled import DISKS, INSTEAD, MKFS_EXT4, RULE, ruled
from test_scenario import GOOD, run

from labrun.injectors import registry
from labrun.injectors.dm_delay import DmDelay
from labrun.injectors.interface import Injector
from writestall_base.errors import UserError


def made(*rules: str) -> DmDelay:
    return DmDelay(ruled(*rules), DISKS, Path("/build"), False)


@pytest.mark.parametrize(
    ("rule", "delays"),
    [
        (RULE, (300, 300, 300)),
        (f'{RULE}ops = ["write"]', (0, 300, 0)),
        (f'{RULE}ops = ["read", "flush"]', (300, 0, 300)),
        (f'{RULE}flags_any = ["PREFLUSH", "FUA"]', (0, 0, 300)),
    ],
)
def test_a_rule_becomes_the_delays_of_a_whole_disk(
    rule: str, delays: tuple[int, int, int]
) -> None:
    (slow,) = made(rule).slow()
    over = " ".join(f"/dev/vdb 0 {delay_ms}" for delay_ms in delays)
    assert slow.table(True) == f"0 {1 << 21} delay {over}"
    assert slow.table(False).split()[5::3] == ["0", "0", "0"]


def test_each_disk_gets_a_device_of_its_own() -> None:
    both = made(f'{RULE}ops = ["write"]', f'{RULE}disk = "journal"')
    assert [slow.below.name for slow in both.slow()] == ["vdb", "sda"]
    above = both.carriers()
    assert above.scratch.path == "/dev/mapper/writestall-scratch"
    assert above.journal and above.journal.path == "/dev/mapper/writestall-journal"
    alone = made(f'{RULE}disk = "journal"').carriers()
    assert alone.scratch == DISKS.scratch


def test_the_manifest_says_what_of_a_rule_is_lost() -> None:
    assert made(RULE).rules() == [
        {
            "device": "vdb",
            "classes": "read,write,flush",
            "delay_ms": 300,
            "lost": "submitter=jbd2/* mode=sleep",
        }
    ]
    (row,) = made('delay_us = 1_000\nmode = "defer"').rules()
    assert row["lost"] == ""


# The text of a rule, and the line that refuses it.
REFUSED = [
    ("lanes = 2", "inject[0].lanes: dm-delay delays every bio alike"),
    ("probability = 5", "inject[0].probability: dm-delay delays every bio alike"),
    ("correlation = 5", "inject[0].correlation: dm-delay delays every bio alike"),
    ("space_bytes = 5", "inject[0].space_bytes: dm-delay delays every bio alike"),
    (
        "burst_on_ms = 1\nburst_period_ms = 2",
        "inject[0].burst_on_ms: dm-delay delays every bio alike",
    ),
    ('flags_none = ["META"]', "inject[0].flags_none: dm-delay delays every bio alike"),
    ('flags_any = ["FUA"]', "inject[0].flags_any: dm-delay can select PREFLUSH only"),
    (
        'flags_any = ["PREFLUSH", "META"]',
        "inject[0].flags_any: dm-delay can select PREFLUSH only",
    ),
    ('ops = ["discard"]', "inject[0].ops: dm-delay cannot select discard"),
    ('mode = "spin"', "inject[0].mode: dm-delay cannot busy-wait"),
]


@pytest.mark.parametrize(("words", "line"), REFUSED)
def test_what_it_cannot_do_is_refused_by_name(words: str, line: str) -> None:
    with pytest.raises(UserError) as caught:
        registry.chosen(ruled(RULE + words), DmDelay.name)
    assert caught.value.lines == (f"x: {line}{INSTEAD}",)
    assert (
        registry.chosen(ruled(RULE + words), registry.DEFAULT).name == registry.DEFAULT
    )


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (
            RULE.replace("300_000", "1_500"),
            "inject[0].delay_us: dm-delay counts whole ms, not 1500 us",
        ),
        (
            RULE.replace("delay_us = 300_000", 'delay = "lognormal 8ms 0.8"'),
            "inject[0].delay: dm-delay delays every bio alike",
        ),
    ],
)
def test_a_delay_it_cannot_count_is_refused(rule: str, line: str) -> None:
    assert list(DmDelay.refusals(ruled(rule))) == [f"x: {line}{INSTEAD}"]


def test_a_delay_of_its_own_stands_for_any() -> None:
    """Whatever the distribution for biodelay: the manifest says that it is lost."""
    rule = (
        'submitter = "jbd2/*"\ndelay = "lognormal 8ms 0.8"\nlanes = 1\n'
        'correlation = 300\nmode = "defer"\ndm_delay_ms = 9\n'
    )
    assert not list(DmDelay.refusals(ruled(rule)))
    (slow,) = made(rule).slow()
    assert slow.delays_ms == {"read": 9, "write": 9, "flush": 9}
    (row,) = made(rule).rules()
    assert row["lost"] == (
        "submitter=jbd2/* delay=lognormal 8ms 0.8 lanes=1 correlation=300"
    )


def test_two_delays_for_one_class_are_refused() -> None:
    twice = ruled(f'{RULE}ops = ["write"]', f'{RULE}ops = ["read", "write"]')
    assert list(DmDelay.refusals(twice)) == [
        "x: inject[1]: dm-delay has one delay for write, that of inject[0]" + INSTEAD
    ]


def test_a_scenario_without_rules_needs_no_injector() -> None:
    assert registry.chosen(ruled(), DmDelay.name) is Injector


def test_dry_run_puts_the_file_system_on_the_slow_device() -> None:
    words = ["--dry-run", "--disk", "/dev/null", "--injector", "dm-delay"]
    lines = run("flush-fua", *words).stdout.splitlines()
    assert lines[0].startswith("dmsetup create ")
    assert lines[1] == "dmsetup mknodes writestall-scratch"
    assert lines[2] == f"{MKFS_EXT4} /dev/mapper/writestall-scratch"
    (load,) = [line for line in lines if line.startswith("dmsetup load ")]
    assert load.endswith("/dev/null 0 0 /dev/null 0 0 /dev/null 0 600'")
    assert not any("biodelay" in line for line in lines)


def test_check_refuses_it_too(tmp_path: Path) -> None:
    spinning = tmp_path / "x.toml"
    spinning.write_text(GOOD.replace(RULE, f'{RULE}mode = "spin"\n'))
    refused = run(str(spinning), "--check", "--injector", "dm-delay")
    assert refused.returncode == 2
    assert "x: inject[0].mode: dm-delay cannot busy-wait" in refused.stderr
