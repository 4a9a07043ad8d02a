# SPDX-License-Identifier: GPL-2.0-only
"""This test will link the waiters and holders of the other tests, and keep apart those
that they keep apart, in every form that logs have."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import test_arrays_and_queues
import test_holder_pairs
import test_holder_rules
import test_kernel_holders
import test_lock_sections
import test_more_holders

from log_forms import FORMS, crash, drgn, proc
from log_stacks import Shown
from writestall.log.headline import does
from writestall.log.links import POSSIBLE, explain_log
from writestall.log.reading import read

MODULES = (
    *(test_arrays_and_queues, test_holder_pairs, test_holder_rules),
    *(test_kernel_holders, test_lock_sections, test_more_holders),
)
Form = Callable[[Shown], list[str]]
# It begins in no function that sleeps, and nothing else says that its task does.
AWAKE = (
    "btrfs_chunk_alloc/btrfs find_free_extent/btrfs btrfs_reserve",
    "schedule rwsem_down_read_slowpath btrfs_read_lock_root_node/",
)
# What a form does not show: drgn no modules, /proc not that a task sleeps for a lock.
MISSED: dict[Form, set[tuple[str, str]]] = {
    crash: {AWAKE},
    drgn: {
        AWAKE,
        ("resets", "unloads"),
        ("probes", "leaves"),
        ("destroys-queue", "final-delete"),
    },
    proc: {
        ("resets", "unloads"),
        ("probes", "leaves"),
        ("nbd-connects", "nbd-removes"),
        ("reply", "reply-inside"),
        ("opens-tty", "in-tty"),
        ("smb-reopens", "smb-closes"),
        ("waits-copy-up", "copies-up"),
        # Each wakes the other: a sleep of its own would tell which waits.
        ("counts-bios", "replaces"),
        ("wants-cache", "caches"),
    },
}
# Who of two holds a lock, and who waits for it as well, /proc does not show.
AMBIGUOUS = {
    ("origin-reads", "origin-copies"),
    ("origin-writes", "origin-copies"),
    ("opens", "truncates"),
    ("lists", "lists-too"),
    ("starts-sync", "stops-sync"),
    ("f2fs-isem", "f2fs-locks"),
}


def _pairs(table: str) -> Iterator[tuple[str, str, str, str]]:
    """Names and stacks of the waiters and holders of a table of the other tests."""
    for module in MODULES:
        stacks: dict[str, str] = getattr(module, "STACKS", {})
        for waiter, holder, *_ in getattr(module, table, ()):
            names = (waiter, holder) if waiter in stacks else (waiter[:60], holder[:60])
            yield *names, stacks.get(waiter, waiter), stacks.get(holder, holder)


def _link(form: Form, waiter: str, holder: str) -> str:
    """How sure the link is; empty where there is none."""
    tasks = Shown("waiter", 1001, waiter), Shown("holder", 1002, holder)
    text = "\n\n".join("\n".join(form(task)) for task in tasks)
    answer = explain_log(read([text.encode()]).tasks)
    return next(
        (
            link.confidence
            for link in answer.links.values()
            if (link.waiter.task.pid, link.holder.task.pid) == (1001, 1002)
        ),
        "",
    )


@pytest.mark.parametrize("form", FORMS)
def test_the_links_are_the_same(form: Form) -> None:
    pairs = list(_pairs("LINKED"))
    assert len(pairs) > 250
    missed = {row[:2] for row in pairs if not _link(form, *row[2:])}
    assert missed == MISSED.get(form, set())


@pytest.mark.parametrize("form", FORMS)
def test_who_is_apart_stays_apart(form: Form) -> None:
    pairs = list(_pairs("APART"))
    assert len(pairs) > 60
    found = {row[:2]: sure for row in pairs if (sure := _link(form, *row[2:]))}
    known = AMBIGUOUS if form is proc else set()
    assert found == dict.fromkeys(known, POSSIBLE)


@pytest.mark.parametrize(
    ("stack", "words"),
    [
        (
            "cgroup_kn_lock_live cgroup_rmdir",
            "waits in {0}(), perhaps for cgroup_mutex",
        ),
        ("btrfs_remove_qgroup/btrfs", "waits for the lock of btrfs quotas"),
        ("nvme_ns_remove/nvme_core", "waits for something no rule knows in {0}()"),
        ("__wait_on_buffer ext4_bread", "waits for the disk"),
    ],
)
def test_words_where_the_sleep_is_not_shown(stack: str, words: str) -> None:
    """A driver's function may wait for a lock of its own as well as for its disk."""
    (task,) = read(["\n".join(proc(Shown("cat", 7, stack))).encode()]).tasks
    caller = stack.split()[0].partition("/")[0]
    assert does(explain_log([task]).tasks[0]).startswith(words.format(caller))
