# SPDX-License-Identifier: GPL-2.0-only
"""test_tree: the build tree for SystemTap has what our scripts need, and none of the
headers that it would compile in vain.

Tests that load a script show that modules compile with it and trace.
"""

from __future__ import annotations

import re

from machine import image, recipe
from support import PROJECT, tool

TRACEPOINT = re.compile(r'kernel\.trace\("(\w+)"\)')
# Print its name twice, the first time once it exists, then its content.
TWICE = """set -eu
export SYSTEMTAP_DIR=/tmp/systemtap
/mnt/project/trace/build-tree {release}
tree=$(/mnt/project/trace/build-tree {release})
echo "$tree"
cd "$tree"
ls ..
test -z "$(find . -xtype l)"
cat include/trace/events/*.h
test include/generated -ef /lib/modules/{release}/build/include/generated
"""
ONE_FOLDER = """set -eu
mkdir -p /lib/modules/9.9/build/include/trace/events
/mnt/project/trace/build-tree 9.9
ln -s build /lib/modules/9.9/source
/mnt/project/trace/build-tree 9.9
"""


def _inside(kernel: str, script: str) -> list[str]:
    """The output of a script in the image's root."""
    enter = ("vm/vm", "enter", "-k", kernel, f"{PROJECT}:/mnt/project:ro")
    done = tool(*enter, "--", "bash", "-c", script)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_has_the_headers_of_our_tracepoints_only(kernel: str) -> None:
    release = image.kernel(recipe.load(kernel)).release
    first, second, alone, *lines = _inside(kernel, TWICE.format(release=release))
    assert first == second == f"/tmp/systemtap/trees/{alone}"
    headers = "\n".join(lines)
    scripts = "".join(path.read_text() for path in (PROJECT / "stap").glob("*.stp"))
    wanted = set(TRACEPOINT.findall(scripts))
    assert wanted == {name for name in wanted if re.search(rf"\b{name}\b", headers)}
    # Each header names its subsystem once; the kernel has more than a hundred.
    systems = re.findall(r"^#define TRACE_SYSTEM (\w+)", headers, re.MULTILINE)
    assert sorted(systems) == ["jbd2", "raw_syscalls", "sched"]


def test_headers_in_one_folder_are_left_where_they_are(kernel: str) -> None:
    assert _inside(kernel, ONE_FOLDER) == ["9.9", "9.9"]
