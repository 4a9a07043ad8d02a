# SPDX-License-Identifier: GPL-2.0-only
"""This test will look for functions in a small tree of C files."""

from __future__ import annotations

import subprocess
import tarfile
from pathlib import Path

import pytest

from driver.commands import source as functions
from machine import source
from support import PROJECT
from writestall_base.errors import UserError

MAKEFILE = """# SPDX-License-Identifier: GPL-2.0
VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 107
EXTRAVERSION =
"""
LONG = "\n".join(f"\tstep({at});" for at in range(20))
FILES = {
    "fs/a.c": f"""int wanted(int a);

static int helper(void)
{{
\tif (wanted(1)) {{
\t\treturn wanted(2);
\t}}
}}

/* wanted() is below */
static __always_inline int
wanted(int a,
       int b)
{{
{LONG}
\tsleep_here(a);
{LONG}
\treturn 0;
}}
""",
    "include/linux/a.h": "static inline int small(void) { return 0; }\n"
    "#define wanted(x) other(x)\nextern int wanted(int a,\n\t\t  int b);\n",
    "fs/b.c": "void not_wanted(int a)\n{\n}\n\nint wanted(void)\n{\n\treturn 1;\n}\n",
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "Makefile").write_text(MAKEFILE)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROJECT / "writestall", "source", *words],
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_definition_is_found_and_nothing_else(tree: Path) -> None:
    found = functions.find(tree, "wanted")
    assert [(str(one.file), one.first) for one in found] == [
        ("fs/a.c", 11),
        ("fs/b.c", 5),
    ]
    lines = FILES["fs/a.c"].splitlines()
    assert found[0].lines == tuple(lines[10:])
    assert found[1].lines == ("int wanted(void)", "{", "\treturn 1;", "}")
    (small,) = functions.find(tree, "small")
    assert small.lines == ("static inline int small(void) { return 0; }",)


def test_lines_have_the_numbers_of_their_file(tree: Path) -> None:
    done = run("wanted", "--kernel", tree)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "fs/a.c, Linux 6.12.107"
    assert lines[1] == "    11  static __always_inline int"
    assert "    35  \tsleep_here(a);" in lines
    assert "fs/b.c, Linux 6.12.107" in lines


def test_only_the_lines_around_a_call_are_shown(tree: Path) -> None:
    done = run("wanted", "--around", "sleep_here", "--kernel", tree)
    head, *lines = done.stdout.partition("\n\n")[0].splitlines()
    assert head == "fs/a.c, Linux 6.12.107"
    assert (lines[0], lines[-1]) == ("   ...", "   ...")
    assert [line.split()[0] for line in lines[1:-1]] == [*map(str, range(30, 41))]
    assert "no line with sleep_here" in done.stdout  # in fs/b.c


def test_what_is_not_there_is_one_line(tree: Path, tmp_path: Path) -> None:
    done = run("gone", "--kernel", tree)
    assert done.returncode == 2
    assert done.stderr.startswith(
        "writestall source: gone: no such function in block, "
    )
    assert "of Linux 6.12.107" in done.stderr and done.stderr.count("\n") == 1
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="no kernel tree"):
        source.release(tmp_path / "empty")
    assert "unknown kernel" in run("gone", "--kernel", "9.9").stderr


def test_of_an_archive_the_c_files_of_some_folders_are_kept(
    tree: Path, tmp_path: Path
) -> None:
    for name in ("fs/notes.txt", "arch/x86/kernel/a.c", "fs/ext4/deep.c"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text("text")
    (tree / "fs/link.c").symlink_to("/etc/passwd")
    archive = tmp_path / "linux-source-6.12.tar.xz"
    with tarfile.open(archive, "w:xz") as made:
        for name in ("Makefile", "fs", "include", "arch"):
            made.add(tree / name, f"linux-source-6.12/{name}")
        made.add(tree / "fs/a.c", "linux-source-6.12/fs/../../../escaped.c")
    kept = tmp_path / "kept"
    kept.mkdir()
    source.unpack(archive, kept)
    files = {str(path.relative_to(kept)) for path in kept.rglob("*") if path.is_file()}
    assert files == {
        "Makefile",
        "fs/a.c",
        "fs/b.c",
        "fs/ext4/deep.c",
        "include/linux/a.h",
    }
    assert source.release(kept) == "6.12.107"
    archive.write_bytes(archive.read_bytes()[:100])
    with pytest.raises(UserError, match=r"linux-source-6\.12\.tar\.xz: "):
        source.unpack(archive, kept)
