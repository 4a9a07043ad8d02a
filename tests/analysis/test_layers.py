# SPDX-License-Identifier: GPL-2.0-only
"""This test will hold the package to its layers: imports never go backwards."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import build
import pytest

import writestall

PACKAGE = Path(writestall.__file__).parent
# Each layer may import those before it; modules of one line may not import each other
# unless the order of the line allows it.
LAYERS = """
    errors files workers machine units buckets axes events classes palette looks
    blocks decode lines scan scanner parse records truth frames rule
    rules_pages rules_journal rules_locks rules_block rules_fs rules_roles rules
    classify endings hlog rundir
    klog parts cases roots
    columns search leaf walk tally ledger
    chain merge application
    sums survey model clients
    check compare expect variants
    logchain
    text clients_text jsonout logtext
    tables to_folded to_csv to_hlog to_prometheus to_perfetto to_parquet export
    hist heatmap term whatif picture proof term_whatif outputs
    latency heat timeline flame curve views doubts commits story render page
    durability comparison resample standing standing_view standing_text beside flames
    standing_page comparing
    shell cli __main__
""".split()
EXTERNAL = {"msgspec", "hdrh", "rich", "jinja2", "markupsafe"}
EXTERNAL |= {"perfetto", "pyarrow", "matplotlib", "shtab", "argparse_manpage"}
EXTERNAL |= {"numpy", "scipy", "numba"}


def _imports(path: Path) -> set[str]:
    """Modules of the package, and others, that a file imports anywhere."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "writestall":
            found |= {f"writestall.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def _inner(path: Path) -> set[str]:
    names = {name.partition(".") for name in _imports(path)}
    return {rest for top, _, rest in names if top == "writestall" and rest}


def test_every_module_has_a_layer() -> None:
    """No module may stand outside the order."""
    modules = {path.stem for path in PACKAGE.rglob("*.py")} - {"__init__"}
    assert modules == set(LAYERS)


@pytest.mark.parametrize("name", LAYERS)
def test_imports_go_forwards_only(name: str) -> None:
    """A module imports only modules of layers before its own."""
    before = set(LAYERS[: LAYERS.index(name)]) | {"__version__"}
    assert _inner(PACKAGE / f"{name}.py") <= before


def test_only_listed_libraries_are_imported() -> None:
    """Dependencies are few, and those of pyproject.toml."""
    tops = {
        name.partition(".")[0]
        for path in PACKAGE.rglob("*.py")
        for name in _imports(path)
    }
    assert tops - set(sys.stdlib_module_names) - {"writestall"} == EXTERNAL


def test_the_explainer_cannot_reach_the_truth() -> None:
    """Nothing that explain imports imports the injector's record."""
    reached: set[str] = set()
    ahead = {"text", "jsonout", "model", "rundir", "page"}
    while ahead:
        name = ahead.pop()
        reached.add(name)
        ahead |= _inner(PACKAGE / f"{name}.py") - reached - {"__version__"}
    assert "truth" not in reached and "check" not in reached


# Runs a command with every file it opens printed to stderr.
_AUDIT = """
import sys
from writestall.cli import main
def hook(event, args):
    if event == "open":
        print("opened", args[0], file=sys.stderr)
sys.addaudithook(hook)
sys.exit(main(sys.argv[1:]))
"""


def _opened(command: str, run: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _AUDIT, command, str(run)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "opened" in done.stderr
    return done.stderr


def test_explain_does_not_open_the_truth(tmp_path: Path) -> None:
    """`explain` and `report` never open truth.jsonl; `check` does."""
    truth = [build.bio_delay(-50, 300, 253, "jbd2/vdb-8")]
    run = build.run_dir(tmp_path / "run", build.cascade(), truth=truth)
    assert "stap.jsonl" in _opened("explain", run)
    assert "truth.jsonl" not in _opened("explain", run)
    assert "truth.jsonl" not in _opened("report", run)
    assert "truth.jsonl" in _opened("check", run)


def test_the_injector_is_not_named() -> None:
    """No rule, text or path of the package knows the injector's name."""
    for path in PACKAGE.rglob("*.py"):
        assert "biodelay" not in path.read_text(), path
