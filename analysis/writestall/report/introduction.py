# SPDX-License-Identifier: GPL-2.0-only
"""introduction: say who the names of a headline are, and what the lab injected."""

from __future__ import annotations

from collections.abc import Iterator

from writestall.chain.answers import Answer
from writestall.chain.roots import Root
from writestall.report.text import main_root
from writestall_base.units import printable

# Who a root's I/O is for, as classify/owners.py names it.
_WHO = {
    "jbd2": "jbd2 is the kernel thread that commits ext4's journal.",
    "writeback": "Writeback is the flusher, a kernel worker that writes dirty pages.",
    "the XFS log": "The XFS log is XFS's journal, which kernel workers write.",
    "the btrfs transaction": "A kernel thread of btrfs commits the transaction.",
    "the f2fs checkpoint": "A kernel thread of f2fs writes the checkpoint.",
    "the loop worker": "The loop worker does the I/O of a disk that is a file.",
    "the dm-crypt worker": "The dm-crypt worker encrypts and submits I/O.",
    "the md thread": "The md thread does the I/O of a RAID.",
}


def introduction(answer: Answer) -> str:
    """One line for a reader who knows neither disk nor thread; empty without any."""
    root, _ = main_root(answer.all_roots)
    facts = (*_disk(answer, root), _WHO.get(root.who, ""), _injected(answer, root))
    return " ".join(filter(None, facts))


def _disk(answer: Answer, root: Root) -> Iterator[str]:
    """What is on the disk, where it is one of the run's."""
    if root.device is None:
        return
    run, name = answer.run, printable(root.device)
    kind = run.get("filesystem", "type")
    if run.get("journal_device", "name") == root.device:
        yield f"Disk {name} holds the file system's journal."
    elif run.get("device", "name") == root.device and kind != "tmpfs":
        yield f"Disk {name} holds the {printable(str(kind))} file system."


def _injected(answer: Answer, root: Root) -> str:
    """What of the stall was made on purpose."""
    injector = answer.run.get("injector", "name")
    if isinstance(injector, str):
        name = printable(injector)
        return f"The lab delayed I/O on purpose in this run (injector {name})."
    if root.cap and answer.run.get("cgroups"):
        return "The lab set this limit on purpose."
    return ""
