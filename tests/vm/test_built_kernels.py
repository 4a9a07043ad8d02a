# SPDX-License-Identifier: GPL-2.0-only
"""This test will check the configurations of the kernels that check themselves.

Building one takes most of an hour: make test-debug does.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from machine.own import building, kconfig
from writestall_base.errors import UserError

FLAVOURS = building.FLAVOURS.values()
PANICS = {
    "BOOTPARAM_HUNG_TASK_PANIC": "a hung task",
    "BOOTPARAM_SOFTLOCKUP_PANIC": "a CPU that does not schedule",
}


def _config(folder: Path, names: list[str]) -> Path:
    path = folder / ".config"
    path.write_text("".join(f"CONFIG_{name}=y\n" for name in names))
    return path


@pytest.mark.parametrize("flavour", FLAVOURS, ids=lambda flavour: flavour.name)
def test_what_a_kernel_lacks_is_refused_by_name(
    flavour: building.Flavour, tmp_path: Path
) -> None:
    wanted = [name for path in flavour.fragments for name in kconfig.needed(path)]
    there = kconfig.check(_config(tmp_path, wanted), *flavour.fragments)
    assert there.issuperset(wanted)
    for name in kconfig.needed(flavour.fragment):
        lacking = _config(tmp_path, [one for one in wanted if one != name])
        with pytest.raises(UserError, match=rf"lacks CONFIG_{name} .*{flavour.name}"):
            kconfig.check(lacking, *flavour.fragments)


@pytest.mark.parametrize("flavour", FLAVOURS, ids=lambda flavour: flavour.name)
def test_a_machine_that_hangs_ends(flavour: building.Flavour) -> None:
    """Except where its hung tasks are what is recorded (tests/lab/lock_lists)."""
    ends = PANICS.keys() & kconfig.needed(flavour.fragment).keys()
    assert ends == (set() if flavour is building.LOCKDEP else PANICS.keys())
