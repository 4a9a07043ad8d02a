# SPDX-License-Identifier: GPL-2.0-only
"""test_scsi_debug: translate a scenario's rules into scsi_debug's parameters, or
refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruled import DISKS, INSTEAD, MKFS_EXT4, RULE, ruled
from test_scenario import run

from labrun.injectors import registry, scsi_debug
from labrun.injectors.scsi_debug import ScsiDebug, Slow
from labrun.scenario.rule import INJECTORS
from writestall_base.errors import StepError, UserError


def made(*rules: str) -> ScsiDebug:
    return ScsiDebug(ruled(*rules), DISKS, Path("/build"), False)


@pytest.mark.parametrize(
    ("rule", "max_queue"),
    [
        (RULE, 1),
        (f'{RULE}mode = "sleep"', 1),
        (f'{RULE}mode = "defer"', 192),
        (f'{RULE}mode = "defer"\nlanes = 4', 4),
    ],
)
def test_who_would_sleep_finds_a_disk_that_takes_one_at_a_time(
    rule: str, max_queue: int
) -> None:
    assert made(rule).slow == Slow("scratch", 300_000, max_queue)


def test_its_disk_takes_the_place_of_the_one_that_is_named() -> None:
    above = made(f'{RULE}disk = "journal"').carriers()
    assert above.scratch == DISKS.scratch
    assert above.journal and above.journal.path == "/dev/SCSI_DEBUG_DISK"


def test_the_manifest_says_what_of_a_rule_is_lost() -> None:
    lost = 'ops = ["write"]\nkind = "writeback"'
    assert made(f"{RULE}{lost}").scsi_rules("sdc") == [
        {
            "device": "sdc",
            "delay_us": 300_000,
            "max_queue": 1,
            "lost": "submitter=jbd2/* kind=writeback ops=write mode=sleep",
        }
    ]


# The text of a rule, and the line that refuses it.
REFUSED = [
    ("probability = 5", "inject[0].probability: scsi_debug delays every bio alike"),
    ("correlation = 5", "inject[0].correlation: scsi_debug delays every bio alike"),
    ("space_bytes = 5", "inject[0].space_bytes: scsi_debug delays every bio alike"),
    (
        "burst_on_ms = 1\nburst_period_ms = 2",
        "inject[0].burst_on_ms: scsi_debug delays every bio alike",
    ),
    (
        'flags_none = ["META"]',
        "inject[0].flags_none: scsi_debug delays every bio alike",
    ),
    (
        'flags_any = ["PREFLUSH"]',
        "inject[0].flags_any: scsi_debug delays every bio alike",
    ),
    ('ops = ["flush"]', "inject[0].ops: scsi_debug cannot select flush"),
    ('mode = "spin"', "inject[0].mode: scsi_debug cannot busy-wait"),
]


@pytest.mark.parametrize(("words", "line"), REFUSED)
def test_what_it_cannot_do_is_refused_by_name(words: str, line: str) -> None:
    with pytest.raises(UserError) as caught:
        registry.chosen(ruled(RULE + words), ScsiDebug.name)
    assert caught.value.lines == (f"x: {line}{INSTEAD}",)


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (
            RULE.replace("300_000", "1_000_000"),
            "inject[0].delay_us: scsi_debug delays by less than 1000000 us",
        ),
        (
            RULE.replace("delay_us = 300_000", 'delay = "lognormal 8ms 0.8"'),
            "inject[0].delay: scsi_debug delays every bio alike",
        ),
    ],
)
def test_a_delay_it_cannot_make_is_refused(rule: str, line: str) -> None:
    assert list(ScsiDebug.refusals(ruled(rule))) == [f"x: {line}{INSTEAD}"]


def test_a_delay_of_its_own_stands_for_any() -> None:
    """Whatever the distribution for biodelay: the manifest says that it is lost."""
    rule = (
        'submitter = "jbd2/*"\ndelay = "lognormal 8ms 0.8"\nlanes = 2\n'
        "correlation = 300\nscsi_debug_ms = 9\n"
    )
    assert not list(ScsiDebug.refusals(ruled(rule)))
    assert made(rule).slow == Slow("scratch", 9_000, 2)
    (row,) = made(rule).scsi_rules("sdc")
    lost = "submitter=jbd2/* mode=sleep delay=lognormal 8ms 0.8 correlation=300"
    assert row["lost"] == lost


@pytest.mark.parametrize(
    "other", ['disk = "journal"', 'mode = "defer"', "delay_us = 200_000"]
)
def test_rules_for_two_disks_are_refused(other: str) -> None:
    second = RULE if "delay" not in other else 'submitter = "jbd2/*"\n'
    assert list(ScsiDebug.refusals(ruled(RULE, f"{second}{other}"))) == [
        f"x: inject[1]: scsi_debug is one disk with one delay, those of inject[0]"
        f"{INSTEAD}"
    ]


def test_an_injector_that_does_not_make_the_chain_is_refused() -> None:
    refused = run("page-lock", "--check", "--injector", "dm-delay")
    assert refused.returncode == 2
    assert refused.stderr == (
        "repro/run: page-lock: dm-delay does not cause its chain; use biodelay or"
        " scsi_debug\n"
    )


def test_every_injector_has_its_name_in_the_format() -> None:
    assert tuple(registry.REGISTRY) == INJECTORS


def test_dry_run_puts_the_file_system_on_its_disk() -> None:
    words = ["--dry-run", "--disk", "/dev/null", "--injector", "scsi_debug"]
    lines = run("page-lock", *words).stdout.splitlines()
    assert lines[0] == "modprobe scsi_debug dev_size_mb=512 delay=0 max_queue=1"
    assert lines[1] == f"{MKFS_EXT4} /dev/SCSI_DEBUG_DISK"
    ndelay = "/sys/bus/pseudo/drivers/scsi_debug/ndelay"
    assert f"sh -c 'echo 500000000 >{ndelay}'" in lines
    assert not any("biodelay" in line for line in lines)


def test_a_module_that_others_use_and_little_memory_are_problems(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scsi_debug, "LOADED", tmp_path / "scsi_debug")
    monkeypatch.setattr(scsi_debug, "_available_mib", lambda: 1024)
    assert not list(ScsiDebug.problems())
    (tmp_path / "scsi_debug").mkdir()
    monkeypatch.setattr(scsi_debug, "_available_mib", lambda: 1023)
    others, memory = ScsiDebug.problems()
    assert others == "scsi_debug is already loaded; modprobe -r scsi_debug"
    assert "512 MiB of memory, of which 1023 MiB are free" in memory


def test_what_is_busy_is_tried_again_and_what_fails_for_good_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scsi_debug, "POLL_S", 0)
    left = [OSError(16, "busy"), StepError("in use")]

    def act() -> None:
        if left:
            raise left.pop()

    scsi_debug.until(act, 60)
    assert not left
    left = [OSError(16, "busy")]
    with pytest.raises(OSError, match="busy"):
        scsi_debug.until(act, 0)
