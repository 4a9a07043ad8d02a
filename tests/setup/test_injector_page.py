# SPDX-License-Identifier: GPL-2.0-only
"""This test will judge the injector by given latencies and rates."""

from __future__ import annotations

from typing import Any

import pytest

from driver.commands import bench_injector as injector_page

US, MS = 1_000, 1_000_000
GOOD = {
    "unloaded": 1000.0,
    "disarmed": 985.0,
    "empty kprobe": 960.0,
    "armed, nothing matches": 955.0,
}
MACHINE = {"accel": "tcg", "accel_reason": "no KVM", "qemu": "10.0.13"}


def arm(injector: str, delay_ns: int, *latencies_ns: int) -> dict[str, Any]:
    return {
        "injector": injector,
        "base": "null_blk",
        "delay_ns": delay_ns,
        "latencies_ns": list(latencies_ns),
    }


def result(ours_ns: int, theirs_ns: int, delay_ns: int = MS) -> dict[str, Any]:
    """Both injectors with this error, on a base of 20 us."""
    base_ns = 20 * US
    return {
        "kernel": "6.12",
        "date": "2026-11-22",
        "rounds": 1,
        "accuracy": [
            arm(name, told_ns, base_ns + told_ns + off_ns)
            for name, error_ns in (
                ("biodelay defer", ours_ns),
                ("dm-delay", theirs_ns),
            )
            for told_ns, off_ns in ((0, 0), (delay_ns, error_ns))
        ],
        "cost": [GOOD],
        "attribute_writes_ns": {"heartbeat_ms": 10.0 * US, "device": 40.0 * US},
    }


def unmet(measured: dict[str, Any]) -> list[str]:
    return [claim.text for claim in injector_page.claims(measured) if not claim.met]


@pytest.mark.parametrize("share, want", [(0.5, 50), (0.99, 99), (1, 100)])
def test_a_quantile_is_a_value_that_was_seen(share: float, want: int) -> None:
    assert injector_page.quantile(range(100, 0, -1), share) == want


def test_an_error_leaves_out_the_delay_and_the_disk_itself() -> None:
    (error,) = (
        one
        for one in injector_page.errors(result(70 * US, 0)["accuracy"])
        if one.injector == "biodelay defer" and one.delay_ns
    )
    assert error.error_ns == (70 * US, 70 * US)
    assert error.latency_ns == (MS + 90 * US, MS + 90 * US)


@pytest.mark.parametrize(
    "ours_ns, theirs_ns, delay_ns, count",
    [
        (100 * US, 500 * US, MS, 0),
        (101 * US, 500 * US, MS, 2),
        (-101 * US, 500 * US, MS, 2),
        (101 * US, 500 * US, 10 * MS, 0),
        (501 * US, 500 * US, 300 * MS, 2),
    ],
    ids=("five times better", "less", "too early", "late is enough", "worse"),
)
def test_ours_must_be_better(
    ours_ns: int, theirs_ns: int, delay_ns: int, count: int
) -> None:
    assert len(unmet(result(ours_ns, theirs_ns, delay_ns))) == count


@pytest.mark.parametrize("name", injector_page.FLOORS)
def test_a_disk_that_lost_too_much_is_reported(name: str) -> None:
    measured = result(1, 5)
    measured["cost"] = [GOOD | {name: 940.0}]
    (text,) = unmet(measured)
    assert text.startswith(f"{name}: 0.940 of the unloaded IOPS")


@pytest.mark.parametrize("beat_ns, met", [(100.0 * US, True), (101.0 * US, False)])
def test_a_heartbeat_that_costs_too_much_is_reported(beat_ns: float, met: bool) -> None:
    beat = injector_page.heartbeat_claim(
        {"heartbeat_ms": beat_ns, "device": 2 * beat_ns}
    )
    assert beat.met == met
    assert "which is 0.50 of a write of `device`" in beat.text


def test_the_page_shows_what_is_not_supported_and_what_was_not_met() -> None:
    measured = result(600 * US, 500 * US)
    measured["accuracy"].append(arm("biodelay defer", 100 * US, 130 * US))
    page = injector_page.page(measured, MACHINE)
    assert "| 100 us | dm-delay | not supported |" in page
    assert "| 1 ms | biodelay defer | 1 | 1.62 ms | 1.62 ms | 600 us | 600 us |" in page
    assert "- **not met**: 1 ms, p50: error of biodelay defer 600 us" in page
    assert "| empty kprobe | 960 | 0.960 | 0.960 to 0.960 | 1.000 |" in page
