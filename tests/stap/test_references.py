# SPDX-License-Identifier: GPL-2.0-only
"""This test will check that the C of the tapset follows a pointer with `->` only where
something holds what it points to: a structure of its own, or one of HELD. All else goes
through nofault() (stap/tapset/compat.stp): paths.stp says why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import PROJECT

TAPSET = sorted((PROJECT / "stap/tapset").glob("*.stp"))
# Types of the kernel whose members are read where they are, and what holds them.
HELD = {
    "struct pt_regs": "of `current`, or of the function that is traced",
    "struct bio": "the argument of the traced function, whose caller holds it",
    "pl_folio_t": "the argument of the traced function, whose caller holds it",
    "struct page": "the argument of the traced function, whose caller holds it",
    "struct kretprobe_instance": "the argument of the probe's handler",
    "struct tracepoint": "one of the kernel itself, for_each_kernel_tracepoint()",
    "struct unwind_state": "a variable of the caller",
    "struct path": "a variable of the caller: a copy",
    "journal_t": "the argument of a tracepoint, in the journal's thread",
    "transaction_t": "the argument of a tracepoint, in the journal's thread",
    "struct transaction_run_stats_s": "a variable of the journal's thread",
}
# Expressions instead: members of `current` and of a task that a tracepoint names, whose
# pointers are not followed further, and the devices of what is held.
HELD_EXPRESSIONS = {
    *(f"current->{name}" for name in ("blocker", "comm", "files", "flags", "fs")),
    *(f"current->{name}" for name in ("group_leader", "ioac", "mm", "nameidata")),
    *(f"current->{name}" for name in ("pid", "tgid", "worker_private")),
    *(f"task->{name}" for name in ("__state", "comm", "pid", "state", "tgid")),
    *("bi_bdev->bd_dev", "j_fs_dev->bd_dev"),
    # of the tapset's own, and of the first of all name spaces
    *("pl_probes[i]->nmissed", "probe->name", ")->release"),
}
# Members of the tapset's own structures that point to such.
OWN_MEMBERS = {"->kind": "struct cl_kind", "->node": "struct in_node"}
# What reads nothing through such a pointer, or nothing that may fault.
SAFE_CALLS = {
    *("nofault", "nofault_at", "nofault_bits", "nofault_pointer", "hash_ptr"),
    *("copy_from_kernel_nofault", "sizeof", "READ_ONCE", "cmpxchg"),
    *("smp_store_release", "container_of", "if", "while", "for", "sl_slept"),
    # the kernel's own: they read what is held, a bio, a folio or a probe
    *("bio_op", "bio_data_dir", "bio_blkcg_css", "disk_devt", "folio_nr_pages"),
    *("folio_mapping", "compound_order", "get_kretprobe", "ftrace_get_regs"),
    *("regs_get_kernel_argument", "regs_return_value", "register_kretprobes"),
    *("unregister_kretprobes", "ftrace_set_filter_ip", "register_ftrace_function"),
    # of `current`, and of a task that RCU holds (only_waits())
    "task_session",
}
EMBEDDED = re.compile(r"%\{(.*?)%\}", re.S)
# Comments, characters, strings and macros.
IGNORED = re.compile(
    r"/\*.*?\*/|'(?:\\.|[^'\\])'|\"(?:\\.|[^\"\\])*\"|^#define (?:[^\n]*\\\n)*[^\n]*$",
    re.S | re.M,
)
OWN = re.compile(r"^(?:static )?(?:const )?struct (\w+) (?:\w+(?:\[[^;]*)? )?\{", re.M)
# A function is what stands before a brace at the left edge; so may be what precedes it.
FUNCTION = re.compile(r"\b(\w+)\([^;{}#]*\)\n\{\n", re.M)
DECLARED = re.compile(
    r"(struct \w+|\b\w+_t)\s+(?:const )?\*+\s*(?:const )?(\w+)(?=([^;{]*))"
)
MORE = re.compile(r",\s*\*(?:const )?(\w+)")
# What is followed: a variable, a member, an element or a result; and a member of that.
FOLLOWED = re.compile(
    r"(\(\((?:struct \w+|\w+_t) \*\)\s*\w+\)|(?:->|\.)?\w+(?:\[\w+\])?|\))(?=->(\w+))"
)
CAST = re.compile(r"\(\((struct \w+|\w+_t) \*\)")
CALL = re.compile(r"\b(\w+)\(([^()]*)")


def _code(path: Path) -> str:
    text = "\n".join(EMBEDDED.findall(path.read_text()))
    return IGNORED.sub('""', text)


def _own() -> set[str]:
    found = {n for path in TAPSET for n in OWN.findall(_code(path))}
    return {f"struct {name}" for name in found} | {"io_regs_t"}


OWN_TYPES = _own()
OWN_FUNCTIONS = {name for path in TAPSET for name in FUNCTION.findall(_code(path))}


def _types(text: str) -> dict[str, str]:
    """The pointers that a function has, and what each points to."""
    found = {}
    for kind, first, rest in DECLARED.findall(text):
        found.update(dict.fromkeys((first, *MORE.findall(rest)), kind))
    return found


def _held(kind: str) -> bool:
    return kind in OWN_TYPES or kind in HELD


def mistakes(code: str) -> Iterator[str]:
    """What follows a pointer that nothing holds, or gives it to what may do so."""
    for text in re.split(r"^\}\n", code, flags=re.M):
        types = _types(text) | OWN_MEMBERS
        for base, member in FOLLOWED.findall(text):
            cast = CAST.match(base)
            kind = cast[1] if cast else types.get(base, "")
            what = f"{base.removeprefix('->')}->{member}"
            if not _held(kind) and what not in HELD_EXPRESSIONS:
                yield what
        for function, given in CALL.findall(text):
            if function in OWN_FUNCTIONS | SAFE_CALLS:
                continue
            for word in re.findall(r"(?<![\w>.&])(\w+)\s*(?:,|$)", given):
                if not _held(types.get(word, "struct pt_regs")):
                    yield f"{function}({word})"


@pytest.mark.parametrize("path", TAPSET, ids=lambda path: str(path.stem))
def test_only_what_is_held_is_followed(path: Path) -> None:
    assert not list(mistakes(_code(path)))


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("\treturn nofault(file, f_pos);", []),
        ("\treturn file->f_pos;", ["file->f_pos"]),
        ("\treturn file_inode(file);", ["file_inode(file)"]),
        ("\treturn call->path->dentry;", ["path->dentry"]),
        ("\treturn cl_file(3)->f_pos;", [")->f_pos"]),
        ("\treturn ((struct inode *)word)->i_ino;", ["((struct inode *)word)->i_ino"]),
        ("\tconst struct dentry *a, *b = a;\n\n\treturn b->d_sb;", ["b->d_sb"]),
        ("\treturn unknown->f_pos;", ["unknown->f_pos"]),
        ("\treturn call->fd; /* file->f_pos */", []),
    ],
)
def test_what_is_not_held_is_found(code: str, expected: list[str]) -> None:
    head = "static int cl_work(struct cl_call *call, const struct file *file)"
    assert list(mistakes(IGNORED.sub("", f"{head}\n{{\n{code}\n}}\n"))) == expected
