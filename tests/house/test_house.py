# SPDX-License-Identifier: GPL-2.0-only
"""test_house: check each file against the rules of the tree."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from tree import FILES, TEXTS, import_root, python_files

from support import PROJECT, imports

# Data and prose; JSON has no comments.
FREE_FORM = {".json", ".jsonl", ".md", ".gz", ".hlog", ".log", ".txt"}
NO_HEADER = {"LICENSE", "py.typed"}
# Which of the project's Python packages each folder may import.
MAY_IMPORT = {
    "base": {"writestall_base"},
    "vm": {"writestall_base", "machine"},
    "lab": {"writestall_base", "machine", "driver"},
    "repro": {"writestall_base", "labrun"},
    "analysis": {"writestall_base", "writestall"},
    # recorder writes the lab's run directory: its steps are labrun's
    "trace": {
        "writestall_base",
        "foreign",
        "launcher",
        "drill",
        "recorder",
        "watcher",
        "labrun",
        "writestall",
    },
    "docs": {"writestall_base", "website", "writestall"},
    "kmod": set(),
}
KERNEL_SIDE = {".c", ".h", ".S", ".stp"}
OURS = {
    *("writestall_base", "machine", "driver", "labrun", "writestall"),
    *("foreign", "launcher", "drill", "recorder", "watcher", "website"),
}


def _name(path: Path) -> str:
    return str(path.relative_to(PROJECT))


@pytest.mark.parametrize("path", TEXTS, ids=_name)
def test_licence_line_comes_first(path: Path) -> None:
    if path.suffix in FREE_FORM - {".md"} or path.name in NO_HEADER:
        return
    head = "\n".join(path.read_text(errors="replace").splitlines()[:3])
    assert "SPDX-License-Identifier: GPL-2.0-only" in head


# The table of commands names the module of each by a string.
ENTRY_POINTS = PROJECT / "analysis/writestall/cli/commands.py"


def _modules() -> set[str]:
    """The dotted names of our modules and packages."""
    files = [path for path in python_files(FILES) if path.suffix == ".py"]
    names = {path.relative_to(import_root(path)).with_suffix("") for path in files}
    dotted = {".".join(name.parts).removesuffix(".__init__") for name in names}
    return {name for name in dotted if name.partition(".")[0] in OURS and "." in name}


def _strings(path: Path) -> set[str]:
    """The texts of a Python file that name modules, or begin such a name."""
    nodes = ast.walk(ast.parse(path.read_text()))
    texts = (node.value for node in nodes if isinstance(node, ast.Constant))
    names = {text.removesuffix(".") for text in texts if isinstance(text, str)}
    return names & MODULES


MODULES = _modules() - {"machine.jars"}  # that is also a key of scenarios


@pytest.mark.parametrize("folder", MAY_IMPORT)
def test_folders_import_only_what_they_may(folder: str) -> None:
    for path in python_files(FILES):
        if _name(path).startswith(f"{folder}/"):
            names = imports(path) | (set() if path == ENTRY_POINTS else _strings(path))
            tops = {name.partition(".")[0] for name in names}
            foreign = tops & (OURS - MAY_IMPORT[folder])
            assert not foreign, f"{_name(path)} imports {foreign}"


# An assignment to the search path, or a call of its methods.
CHANGES_PATH = re.compile(r"^\s*sys\.path(?:\[.*\])?(?:\.\w+\(| \+?= ).*", re.MULTILINE)
ADDS_BASE = 'sys.path.insert(1, f"{sys.path[0]}/../base")'


def test_programs_of_the_folders_add_the_base_alone_to_their_search_path() -> None:
    changes = {
        _name(path): CHANGES_PATH.findall(path.read_text())
        for path in python_files(FILES)
        if not _name(path).startswith("tests")
    }
    assert changes.pop("writestall")
    assert all(found in ([], [ADDS_BASE]) for found in changes.values()), changes


def test_the_base_imports_the_standard_library_alone() -> None:
    for path in (PROJECT / "base").rglob("*.py"):
        tops = {name.partition(".")[0] for name in imports(path)}
        assert tops <= sys.stdlib_module_names | {"writestall_base"}, _name(path)


# An include of another folder: "../" in C, @include in SystemTap.
REACHES_OUT = re.compile(r'^\s*#\s*include\s+"\.\./|@include', re.MULTILINE)


@pytest.mark.parametrize("folder", ["kmod", "stap", "bpf"])
def test_kernel_side_includes_no_other_folder(folder: str) -> None:
    for path in FILES:
        if _name(path).startswith(f"{folder}/") and path.suffix in KERNEL_SIDE:
            assert not REACHES_OUT.search(path.read_text()), _name(path)


# A preprocessor conditional that is not an include guard.
CONDITIONAL = re.compile(
    r"^\s*#\s*(?:if|ifdef|ifndef|elif)\b(?!.*\bBIODELAY_(?:\w+_)?H\b)", re.M
)


def test_kernel_versions_matter_in_compat_only() -> None:
    sources = [p for p in FILES if p.parent == PROJECT / "kmod"]
    conditional = {
        path.name
        for path in sources
        if path.suffix in KERNEL_SIDE and CONDITIONAL.search(path.read_text())
    }
    assert conditional == {"compat.h", "compat_block.h"}


def test_no_two_files_of_tests_have_one_name() -> None:
    """pytest imports them by their names alone, without the folders."""
    names = Counter(path.name for path in (PROJECT / "tests").rglob("test_*.py"))
    assert [name for name, count in names.items() if count > 1] == []


def test_only_check_reads_the_injectors_record() -> None:
    """Only `check` may read truth.jsonl: `explain` must not know the answer."""
    package = PROJECT / "analysis/writestall"
    readers = {
        _name(p) for p in package.rglob("*.py") if "truth.jsonl" in p.read_text()
    }
    assert readers == {
        f"analysis/writestall/verdict/{n}.py" for n in ("check", "delays")
    }


def test_no_call_that_reads_or_writes_is_probed_at_its_entry() -> None:
    table = tomllib.loads((PROJECT / "docs/calls.toml").read_text())
    rows = {name: row for part in table.values() for name, row in part.items()}
    entered = {name for name, row in rows.items() if "entry" in row}
    assert {rows[name]["group"] for name in entered} == {"syncs", "names"}
    assert all("rename" in name or "sync" in name for name in entered)


def test_no_probe_is_on_the_write_path() -> None:
    text = (PROJECT / "stap/stalled_writes.stp").read_text()
    assert set(re.findall(r"^probe (.*)$", text, re.MULTILINE)) == {
        'kernel.trace("sched_switch")',
        'kernel.trace("sched_waking")',
        "timer.ms(10)",
        "begin",
        "end",
    }


# What bpf/core/choosing.c calls the programs that stalled_writes does without, --waits
# among them: who lists the sleeps of a process pays at the end of each call.
OF_OTHERS = re.compile(
    r"^(?!.*\bbios\b).*\b(?:exact|pages|has_jbd2|waits|keeps|drills)\b"
)


def test_no_probe_of_the_compiled_tracer_is_on_the_write_path() -> None:
    core = PROJECT / "bpf/core"
    programs = (core / "probes/probes.bpf.c").read_text()
    rows = (core / "choosing.c").read_text()
    chosen = dict(re.findall(r"\{ probes->progs\.(\w+), (.*) \},", rows))
    places = re.findall(r'^SEC\("(.*)"\)\nint (\w+)', programs, re.MULTILINE)
    assert set(chosen) == {program for _, program in places}
    # Two probes of one function miss what both missed: missed.c.
    twins = re.findall(
        r"\{ probes->progs\.(\w+), probes->progs\.(\w+) \},",
        (core / "missed.c").read_text(),
    )
    assert {twin for _, twin in twins} == {
        name for name, why in chosen.items() if "also_by_kprobe" in why
    }
    assert all(twin == f"{name}_by_kprobe" for name, twin in twins)
    assert [name for name, why in chosen.items() if "waits" in why] == ["leave_wait"]
    # --calls-mib alone
    assert {place for place, name in places if "keeps" in chosen[name]} == {
        # at the calls of docs/calls.toml with `keep`, call_probes.c
        *("fentry", "fexit", "kprobe", "fexit/vfs_read", "fexit/vfs_write"),
        *("fentry/security_inode_unlink", "fentry/security_inode_rename"),
        *("fentry/vfs_fsync_range", "fentry/handle_mm_fault", "fexit/handle_mm_fault"),
        "fentry/aio_complete_rw",
        *("fentry/aio_fsync_work", "fexit/aio_fsync_work"),
        *("tp/io_uring/io_uring_submit_req", "tp/io_uring/io_uring_complete"),
    }
    assert {place for place, name in places if not OF_OTHERS.search(chosen[name])} == {
        "raw_tp/sys_enter",  # calibrate, which runs once and is not attached
        "kprobe",  # enter_anew, at the calls of docs/calls.toml with `entry`
        *("raw_tp/sched_switch", "tp_btf/sched_waking"),
        *("raw_tp/contention_begin", "raw_tp/contention_end"),
        *("fentry/submit_bio", "fentry/bio_endio", "fentry/throtl_qnode_add_bio"),
        *("kprobe/submit_bio", "kprobe/bio_endio", "kprobe/throtl_qnode_add_bio"),
    }
