# SPDX-License-Identifier: GPL-2.0-only
"""test_checks: what a rule is refused for on a kernel that no machine here runs."""

from __future__ import annotations

import errno
import re
import subprocess
from pathlib import Path

import pytest
from test_attributes import KERNEL_C, _headers

from support import PROJECT

KMOD = PROJECT / "kmod"
PROGRAM = """
#include "shim.h"
#include "biodelay.h"
int main(void)
{
	struct biodelay_spec spec = { .device.dev = 1, .delay = { .count = 1 } };

	spec.delay.at[0].ns = 1000;
	spec.mode = BIODELAY_SPIN;
	return -biodelay_spec_check(&spec);
}
"""


@pytest.mark.parametrize(
    ("options", "refused"),
    [
        ("-DCONFIG_PREEMPT_RT=0 -DCONFIG_PREEMPT_RT_FULL=0", 0),
        ("-DCONFIG_PREEMPT_RT=1 -DCONFIG_PREEMPT_RT_FULL=0", errno.EOPNOTSUPP),
        ("-DCONFIG_PREEMPT_RT=0 -DCONFIG_PREEMPT_RT_FULL=1", errno.EOPNOTSUPP),
    ],
)
def test_spinning_is_refused_with_preempt_rt(
    tmp_path: Path, options: str, refused: int
) -> None:
    """By compat.h's own condition; the handler would take a lock that sleeps."""
    _headers(tmp_path / "include")
    compat = (KMOD / "compat.h").read_text()
    found = re.search(r"#define BIODELAY_CAN_SPIN (?:.*\\\n)*.*\n", compat)
    assert found
    (tmp_path / "main.c").write_text(found[0] + PROGRAM)
    (tmp_path / "check.c").write_text(found[0] + (KMOD / "check.c").read_text())
    sources = [tmp_path / "main.c", tmp_path / "check.c"]
    sources += [KMOD / name for name in ("names.c", "series.c", "quantiles.c")]
    command = ["gcc", *KERNEL_C.split(), *options.split(), f"-I{tmp_path / 'include'}"]
    command += [
        f"-I{PROJECT / 'tests/fuzz'}",
        f"-I{KMOD}",
        "-o",
        str(tmp_path / "main"),
    ]
    subprocess.run([*command, *map(str, sources)], check=True)
    assert subprocess.run([tmp_path / "main"], check=False).returncode == refused
