# SPDX-License-Identifier: GPL-2.0-only
"""This test will compare completion and man page with the command line."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

COMMANDS = ("explain", "report", "check", "export", "hist", "heatmap", "expect")


def _shell(*arguments: str) -> str:
    command = [sys.executable, "-m", "writestall", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def test_bash_completes_commands_and_options() -> None:
    """bash itself reads the script and completes commands with it."""
    script = _shell("completion", "bash")
    asked = """
    COMP_WORDS=(writestall {words}) COMP_CWORD={place} COMP_LINE= COMP_POINT=0
    complete -p writestall >/dev/null || exit 1
    _shtab_writestall; printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    commands = _bash(script + asked.format(words="he", place=1))
    assert commands.split() == ["heatmap"]
    options = _bash(script + asked.format(words="check --m", place=2))
    assert "--min" in options.split()


def _bash(text: str) -> str:
    command = ["bash", "--norc", "-c", text]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("shell", ["zsh", "tcsh"])
def test_other_shells_get_every_command(shell: str) -> None:
    script = _shell("completion", shell)
    assert all(name in script for name in COMMANDS)


def test_the_man_page_has_every_command_and_no_mistake_of_roff() -> None:
    page = _shell("man")
    assert page.startswith(".TH WRITESTALL")
    text = page.replace("\\", "")
    assert all(f"writestall {name}" in text for name in COMMANDS)
    assert "--what-if" in text


def test_the_man_page_has_a_heading_for_each_command() -> None:
    headings = re.findall(r"^\.SH (.+)$", _shell("man").replace("\\", ""), re.M)
    assert headings[4] == "COMMANDS"
    found = [name.removeprefix("WRITESTALL ").lower() for name in headings[5:-3]]
    assert set(COMMANDS) <= set(found)
    assert headings[-3:] == ["EXIT STATUS", "FILES", "EXAMPLES"]


def test_the_man_page_has_its_sections_and_unfilled_usage() -> None:
    page = _shell("man")
    for heading in ("EXIT STATUS", "EXAMPLES", "FILES"):
        part = page.partition(f"\n.SH {heading}\n")[2].partition("\n.SH ")[0]
        assert part.count(".TP") >= 2 or part.count("writestall") >= 5, heading
    usages = re.findall(r"^(.*)\nusage: (?:.*\n)+?(.*)\n\n", page, re.M)
    assert len(usages) >= len(COMMANDS)
    assert {one for one in usages} == {(".nf", ".fi")}
