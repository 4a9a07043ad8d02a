# SPDX-License-Identifier: GPL-2.0-only
"""test_built_arguments: check trace/build --arguments without debuginfo, on bad input.

It runs in the image's root, which has no debuginfo. tests/scripts/says-the-arguments.py
shows what it compiles with debuginfo.
"""

from __future__ import annotations

import subprocess

from machine import image, recipe
from support import PROJECT, tool


def _build(kernel: str, word: str, root: str = "") -> subprocess.CompletedProcess[str]:
    release = image.kernel(recipe.load(kernel)).release
    script = (
        f"{root.format(release=release)}"
        f" SYSTEMTAP_DIR=/tmp /mnt/project/trace/build drilldown -k {release}"
        f" -o /tmp/made --arguments '{word}'; status=$?; ls -A /tmp; exit $status"
    )
    enter = ("vm/vm", "enter", "-k", kernel, f"{PROJECT}:/mnt/project:ro")
    return tool(*enter, "--", "bash", "-c", script)


def test_without_debuginfo_it_names_the_package(kernel: str) -> None:
    release = image.kernel(recipe.load(kernel)).release
    done = _build(kernel, "do_get_write_access")
    reason = f"no debuginfo of kernel {release}: install linux-image-{release}-dbg"
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"trace/build: {reason}\n"


# As if it were installed.
INSTALLED = (
    "debug=/usr/lib/debug/lib/modules/{release}; mkdir -p $debug; >$debug/vmlinux;"
)


def test_what_is_no_function_is_named(kernel: str) -> None:
    for word in ("$(reboot)", "f@fs/inode.c", "a:b:c", 'f"', "f@a.c:7x"):
        done = _build(kernel, f"f?,{word}", INSTALLED)
        assert done.returncode == 1
        said = f"trace/build: --arguments {word}: write F, M:F, "
        assert done.stderr.startswith(said)
        assert done.stderr.count("\n") == 1
