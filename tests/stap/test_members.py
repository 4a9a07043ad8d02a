# SPDX-License-Identifier: GPL-2.0-only
"""This test will check that the copy of SystemTap's $$parms$ is bounded, has no
contents of strings, and includes the parameters after a large structure. It compiles
and runs the C of arguments.stp."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import PROJECT

SOURCE = PROJECT / "stap/tapset/arguments.stp"
FUNCTION = re.compile(r"^static void ar_copy_members\(.*?^}$", re.M | re.S)
DEFINES = re.compile(r"^#define AR_\w+_BYTES \d+.*$", re.M)
# One text per line; the kernel's scnprintf() and that of userspace agree if there is
# room.
MAIN = """
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#define scnprintf snprintf
%s
int main(void)
{
	static char text[1 << 16], to[AR_MEMBERS_BYTES];

	while (fgets(text, sizeof(text), stdin)) {
		text[strcspn(text, "\\n")] = 0;
		memset(to, 'X', sizeof(to));
		ar_copy_members(to, text);
		if (strlen(to) >= sizeof(to))
			return 1;
		puts(to);
	}
	return 0;
}
"""
Kept = Callable[[str], str]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """The copy of a text."""
    compiler = shutil.which("cc")
    if not compiler:
        pytest.skip("no C compiler on this host (gcc)")
    folder: Path = tmp_path_factory.mktemp("members")
    text = SOURCE.read_text()
    function = FUNCTION.search(text)
    assert function
    source = folder / "members.c"
    source.write_text(MAIN % "\n".join((*DEFINES.findall(text), function[0])))
    program = folder / "members"
    checked = ("-Wall", "-Werror", "-fsanitize=address,undefined")
    subprocess.run([compiler, *checked, "-o", program, source], check=True)

    def run(line: str) -> str:
        done = subprocess.run([program], input=line, text=True, capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.removesuffix("\n")

    return run


def test_what_fits_stays(kept: Kept) -> None:
    text = "jh={.b_bh=0xffff888004746d68, .b_jcount=1, <union>={...}} force_copy=0"
    assert kept(text) == text


def test_what_stands_behind_a_large_structure_has_room(kept: Kept) -> None:
    inode = "{" + ", ".join(f".i_{n}=0xffff888004746d68" for n in range(40)) + "}"
    said = kept(f"inode={inode} flags=20")
    assert said.startswith("inode={.i_0=0xffff888004746d68, ")
    assert said.endswith("...} flags=20")
    assert len(said) < 140


def test_nothing_of_a_string_is_kept(kept: Kept) -> None:
    said = kept(
        r'buf="secret {\"quoted\" \\" len=200 c=' + r"'\"' b=" + '"more secret"'
    )
    assert said == 'buf="" len=200 c=\'\' b=""'


@settings(max_examples=30)
@given(st.text(st.characters(codec="ascii", exclude_characters="\0\n\r"), max_size=900))
def test_no_text_is_too_long(kept: Kept, text: str) -> None:
    assert len(kept(text)) < 256
