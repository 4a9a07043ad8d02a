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
test "$(cat include/config/kernel.release)" = {release}
cat include/trace/events/*.h
test include/generated -ef /lib/modules/{release}/build/include/generated
"""
# A tree that a kernel was built in: first without, then with a link to its source.
ONE_FOLDER = """set -eu
export SYSTEMTAP_DIR=/tmp/systemtap
build=/lib/modules/9.9/build
mkdir -p $build/include/{linux,trace/events} $build/arch/x86/include
touch $build/Makefile $build/Module.symvers $build/include/trace/define_trace.h
echo 'TRACE_EVENT(sched_switch, ...)' >$build/include/trace/events/sched.h
echo 'TRACE_EVENT(kmalloc, ...)' >$build/include/trace/events/kmem.h
echo '#define FLAGS' >$build/include/trace/events/mmflags.h
echo '#include <trace/events/mmflags.h>' >$build/include/linux/flags.h
tree=$(/mnt/project/trace/build-tree 9.9)
ln -s build /lib/modules/9.9/source
test "$tree" = "$(/mnt/project/trace/build-tree 9.9)"
echo 0x0 symbol >$build/Module.symvers
test "$tree" != "$(/mnt/project/trace/build-tree 9.9)"
cd "$tree"
find -L . -type f | sort
"""
# Headers of tracepoints in two folders, as no distribution has them.
BOTH = """set -eu
mkdir -p /lib/modules/9.9/{build,source}/include/trace/events
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
    scripts = "".join(path.read_text() for path in (PROJECT / "stap").rglob("*.stp"))
    wanted = set(TRACEPOINT.findall(scripts))
    assert wanted == {name for name in wanted if re.search(rf"\b{name}\b", headers)}
    # Each header names its subsystem once; the kernel has more than a hundred.
    systems = re.findall(r"^#define TRACE_SYSTEM (\w+)", headers, re.MULTILINE)
    assert sorted(systems) == ["block", "jbd2", "raw_syscalls", "sched"]


def test_a_tree_of_its_own_is_thinned_too() -> None:
    kernel = recipe.load().kernel
    assert _inside(kernel, ONE_FOLDER) == [
        "./Makefile",
        "./Module.symvers",
        "./include/config/kernel.release",
        "./include/linux/flags.h",
        "./include/trace/define_trace.h",
        "./include/trace/events/mmflags.h",
        "./include/trace/events/sched.h",
    ]


def test_what_is_neither_is_left_where_it_is() -> None:
    assert _inside(recipe.load().kernel, BOTH) == ["9.9"]
