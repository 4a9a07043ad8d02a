# SPDX-License-Identifier: GPL-2.0-only
"""lock_table: write the rules of who holds what as a page, with their coverage.

The rules are analysis/writestall/log/holders; docs/wait-sites.txt has the functions of
Linux 6.12 that sleep uninterruptibly (docs/find-wait-sites.py): the coverage is of
these.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from writestall.classify.frames import Frame
from writestall.classify.stack import classify_frames, role_of
from writestall.log.holders import HOLDERS
from writestall.log.holders.form import Holder, functions
from writestall.log.reading import LoggedTask
from writestall.log.stuck import LIKELY, Stuck

SITES = Path("docs/wait-sites.txt")
# What lies between schedule() and who calls these.
SLEEPS = {
    "mutex_lock": "__mutex_lock mutex_lock",
    "down_read": "rwsem_down_read_slowpath down_read",
    "down_write": "rwsem_down_write_slowpath down_write",
    "down": "__down down",
    "percpu_down": "percpu_rwsem_wait __percpu_down_read",
    "wait_on_bit": "bit_wait __wait_on_bit out_of_line_wait_on_bit",
    "wait_for_completion": "schedule_timeout __wait_for_common wait_for_completion",
    "io_schedule": "io_schedule",
    "io_wait_event": "io_schedule",
    "closure_sync": "__closure_sync",
    "flush": "__wait_for_common __flush_work",
    "drain": "__wait_for_common __flush_workqueue",
    "cancel": "__wait_for_common __flush_work __cancel_work_sync",
    "schedule_timeout": "schedule_timeout",
}
FOLDER = re.compile(r"fs/(?P<module>\w+)/")
# Folders whose module has another name; None for what is of no module.
MODULES = {"overlayfs": "overlay", "quota": None, "iomap": None}
HEAD = """\
<!-- SPDX-License-Identifier: GPL-2.0-only -->
<!-- docs/render-locks.py writes this page from analysis/writestall/log/holders. -->
# Who holds what a stuck task waits for

One row for each rule by which a [pasted log](questions/pasted-log.md) is explained; the
table is of use without this program. A stack shows no lock: it shows functions, and the
kernel's sources show which of them sleep with a lock held. Functions are those of Linux
2.6.32 to 7.x, `*` is any text; the sources cited are of Linux 6.12 where no release is
named. *sure*: where one task alone fits, it is `likely`; else `possible`.
[How causes are inferred](how-causes-are-inferred.md) says how a rule is applied.

*a lock of sections.txt*:
[sections.txt](../analysis/writestall/log/holders/sections.txt) lists, for the functions
of Linux 2.6.32 (RHEL 6), 3.10, 4.4, 4.15, 5.4, 5.10, 5.15, 6.1, 6.5, 6.12 and 7.2 that
take a lock, flush a work or wait for a queue, what they call with the lock held, and
who runs the work or wakes the queue (of hfs, squashfs, erofs, jffs2, ksmbd, libfc, the
large SCSI drivers, dasd and kernel/rcu those of 6.12 alone; of RDMA, PCI, ACPI,
Thunderbolt, Xen, UBI, virtio, vhost, net/core, net/ceph, 9P, interrupts, perf, BPF,
keys, Type-C, HID, input and tty those of 4.19, 5.4 and 7.0). It is made of the sources
by `docs/find-lock-sections.py`, which says how to read it.

| lock or event | who waits, where | who holds it or ends the wait | sure | source |
| --- | --- | --- | --- | --- |
"""
COVERAGE = """
## Coverage

`docs/find-wait-sites.py` lists the functions of Linux 6.12 below the VFS that sleep
uninterruptibly by a call of their own: {sites} of them, in
[wait-sites.txt](wait-sites.txt). Each was asked as a stack of its own, without its
callers; a rule that needs a caller counts as none. *class*: a rule names what is waited
for. *holder*: a rule of the table names who holds it, the two about any lock of one
function or one module left out.

| folder | sites | class | share | holder | share |
| --- | ---: | ---: | ---: | ---: | ---: |
"""
REST = """
Without a rule for the holder, by file:

"""
ANY_LOCK = (
    *("a lock of one function", "a lock of one module"),
    "the end of a work of one module",
    "the end of a thread of one module",
)
SHOWN = 12


def shown(pattern: re.Pattern[str] | None) -> str:
    """The names of a rule as they are written there."""
    words = functions(pattern) if pattern else []
    more = f" and {len(words) - SHOWN} more" if len(words) > SHOWN else ""
    return " ".join(f"`{word}`" for word in words[:SHOWN]) + more


def row(cls: str, rule: Holder) -> str:
    """The line of the table for a rule."""
    asked = shown(rule.of or rule.caller)
    everywhere = all(rule in rules for rules in HOLDERS.values())
    waits = "any class" if everywhere else f"`{cls}`"
    waits += f", in {asked}" if asked else ""
    holds = f"{rule.why}: {shown(rule.shows)}"
    if rule.also:
        holds += f" with {shown(rule.also)}"
    sure = "sure" if rule.confidence == LIKELY else "possible"
    return f"| {rule.lock} | {waits} | {holds} | {sure} | {rule.source} |"


def table() -> Iterator[str]:
    """A row for each rule; one that stands in several classes has one."""
    seen: set[tuple[object, ...]] = set()
    for cls, rules in HOLDERS.items():
        for rule in rules:
            key = (rule.lock, rule.why, rule.shows, rule.caller, rule.of)
            if key not in seen:
                seen.add(key)
                yield row(cls, rule)


def stuck(file: str, function: str, call: str) -> Stuck:
    """A task that sleeps there."""
    folder = FOLDER.match(file)
    module = MODULES.get(folder["module"], folder["module"]) if folder else None
    kind = max((name for name in SLEEPS if call.startswith(name)), key=len, default="")
    names = ["__schedule", "schedule", *SLEEPS.get(kind, "").split()]
    frames = [*map(Frame, names), Frame(function, module)]
    task = LoggedTask(1, "task", 1, "D", frames=frames, guesses=frames)
    return Stuck(task, classify_frames(frames), role_of(frames, "task"))


def has_holder(task: Stuck) -> bool:
    """True where a rule of the table asks who holds what it waits for."""
    rules = HOLDERS[task.verdict.cls]
    return any(rule.asks(task) for rule in rules if rule.lock not in ANY_LOCK)


def coverage(tree: Path) -> str:
    """The shares of the wait sites with a rule, and those without."""
    count: dict[str, Counter[str]] = defaultdict(Counter)
    rest: dict[str, list[str]] = defaultdict(list)
    lines = (tree / SITES).read_text().split("\n")[:-1]
    for line in lines:
        file, function, call = line.split()
        task, folder = stuck(file, function, call), file.rpartition("/")[0]
        known = {
            "sites": 1,
            "class": task.verdict.rule is not None,
            "holder": has_holder(task),
        }
        count[folder].update({name: int(value) for name, value in known.items()})
        if not known["holder"]:
            rest[file].append(function)
    count["all"] = sum(count.values(), Counter())
    text = COVERAGE.format(sites=len(lines))
    for folder, found in count.items():
        shares = [
            f"{100 * found[name] // found['sites']} %" for name in ("class", "holder")
        ]
        text += (
            f"| {folder} | {found['sites']} | {found['class']} | {shares[0]} "
            f"| {found['holder']} | {shares[1]} |\n"
        )
    names = (
        f"- {file}: {' '.join(dict.fromkeys(found))}" for file, found in rest.items()
    )
    return text + REST + "\n".join(names) + "\n"


def page(tree: Path) -> str:
    """The page of a tree."""
    rows = "\n".join(table())
    return f"{HEAD}{rows}\n{coverage(tree)}"
