# SPDX-License-Identifier: GPL-2.0-only
"""This test will check what the package imports, and what it opens."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import build
import writestall
from support import imports

PACKAGE = Path(writestall.__file__).parent
EXTERNAL = {"msgspec", "hdrh", "rich", "jinja2", "markupsafe"}
EXTERNAL |= {"perfetto", "pyarrow", "matplotlib", "shtab", "argparse_manpage"}
EXTERNAL |= {"numpy", "scipy", "prometheus_client"}


def _inner(path: Path) -> set[str]:
    return {name for name in imports(path) if name.startswith("writestall.")}


def test_only_listed_libraries_are_imported() -> None:
    """Dependencies are few, and those of pyproject.toml."""
    tops = {
        name.partition(".")[0]
        for path in PACKAGE.rglob("*.py")
        for name in imports(path)
    }
    ours = {"writestall", "writestall_base"}
    assert tops - set(sys.stdlib_module_names) - ours == EXTERNAL


def _file(module: str) -> Path | None:
    """The file of a module of the package, None for a name inside one."""
    path = PACKAGE.joinpath(*module.split(".")[1:])
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def test_the_explainer_cannot_reach_the_truth() -> None:
    """Nothing that explain imports imports the injector's record."""
    reached: set[Path] = set()
    ahead = {PACKAGE / f"{name}.py" for name in ("report/page", "export/chains_json")}
    while ahead:
        path = ahead.pop()
        reached.add(path)
        names = _inner(path)
        names |= {name.rpartition(".")[0] for name in names}
        ahead |= {file for file in map(_file, names) if file} - reached
    assert PACKAGE / "chain/answers.py" in reached
    verdict = (PACKAGE / f"verdict/{name}.py" for name in ("delays", "caps", "check"))
    assert reached.isdisjoint(verdict)


# Run a command and print every file that it opens to stderr.
_AUDIT = """
import sys
from writestall.cli.main import main
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
