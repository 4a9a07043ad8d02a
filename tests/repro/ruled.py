# SPDX-License-Identifier: GPL-2.0-only
"""ruled: make a valid scenario with other rules, and disks for it."""

from __future__ import annotations

from test_scenario import GOOD, parse

from labrun.scenario.keys import Scenario
from labrun.setup.disk import Disk, Disks

RULE = 'submitter = "jbd2/*"\ndelay_us = 300_000\n'
DISKS = Disks(
    Disk("/dev/vdb", "vdb", "254:16", 1 << 30), Disk("/dev/sda", "sda", "8:0", 1 << 20)
)
LAZY = "-E lazy_itable_init=0,lazy_journal_init=0"
MKFS_EXT4 = f"mkfs.ext4 -q {LAZY}"
INSTEAD = "; use --injector biodelay"


def ruled(*rules: str) -> Scenario:
    """A scenario with these rules instead of its own."""
    text = GOOD.replace('"ext4"', '"ext4"\nexternal_journal = true')
    text = text.replace("[expect]", "[expect]\nwriter_untouched = false")
    assert f"[[inject]]\n{RULE}" in text
    return parse(
        text.replace(
            f"[[inject]]\n{RULE}", "\n".join(f"[[inject]]\n{rule}" for rule in rules)
        )
    )
