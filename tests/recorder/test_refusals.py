# SPDX-License-Identifier: GPL-2.0-only
"""test_refusals: what cannot be recorded is refused in one line, with the remedy."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import threading
from pathlib import Path

import pytest

from driver import checkout
from launcher import core
from launcher.errors import TraceError
from recorder import engines
from recorder.options import SELECTION, fill, time_up_to
from recorder.run_folder import new_folder
from writestall.cli.main import main
from writestall_base.errors import UserError

ALL = "CapEff:\t000001ffffffffff\n"
RELEASE = os.uname().release
NO_RIGHTS = "CapEff:\t00000000a80425fb\n"
OLD = "it needs Linux 5.10 or later, and this is 4.19.0"


def _root(folder: Path, lockdown: str = "[none]", caps: str = ALL) -> Path:
    """A host on which every engine works."""
    files = {
        "proc/self/status": caps,
        "proc/sys/kernel/modules_disabled": "0",
        "sys/kernel/security/lockdown": lockdown,
        f"lib/modules/{RELEASE}/build/Makefile": "",
    }
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(core, "program", lambda: Path("/usr/bin/stalled-writes"))
    monkeypatch.setattr(core, "missing", lambda program: [])


def _asked(engine: str = "auto", module: Path | None = None) -> argparse.Namespace:
    return argparse.Namespace(engine=engine, module=module, profile=False)


@pytest.mark.usefixtures("installed")
def test_the_first_that_works_is_taken_and_says_why_not_the_other(
    tmp_path: Path,
) -> None:
    root = _root(tmp_path)
    for asked, name, why in (
        (_asked(), "core", "stap not taken: it compiles and loads a kernel module"),
        (_asked("core"), "core", "stap not taken: --engine core"),
        (_asked("stap"), "stap", "core not taken: --engine stap"),
        (_asked(module=Path("x.ko")), "stap", "core not taken: a --module was given"),
    ):
        chosen, line = engines.choose(asked, root)
        assert chosen.name == name
        assert line.endswith(why)


def _without_core(name: str) -> str | None:
    return None if name == core.NAME else f"/usr/bin/{name}"


def test_without_the_program_of_core_it_is_systemtap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", _without_core)
    monkeypatch.setattr(core, "BUILT", tmp_path / "nothing")  # by make core
    chosen, line = engines.choose(_asked(), _root(tmp_path))
    assert chosen.name == "stap"
    assert (
        "core not taken: stalled-writes is missing: install the package"
        " writestall-tracers, or build it (make core)"
    ) in line


@pytest.mark.usefixtures("installed")
def test_what_the_compiled_tracer_finds_in_its_way_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(core, "missing", lambda _: [f"{OLD}; use --engine stap"])
    chosen, line = engines.choose(_asked(), _root(tmp_path))
    assert chosen.name == "stap"
    assert line.endswith(f"core not taken: {OLD}")
    with pytest.raises(UserError, match=f"^--engine core: {OLD}$"):
        engines.choose(_asked("core"), tmp_path)


def test_the_compiled_tracer_itself_says_what_is_in_its_way(tmp_path: Path) -> None:
    program = tmp_path / "stalled-writes"
    for script, found in (
        ('echo \'{"ev":"check","missing":["a","b"]}\'', ["a", "b"]),
        ('echo \'{"ev":"check","missing":[]}\'', []),
    ):
        program.write_text(f'#!/bin/sh\n[ "$1" = --check ] && {script}\n')
        program.chmod(0o755)
        assert core.missing(program) == found
    program.write_text("#!/bin/sh\nexit 2\n")
    with pytest.raises(TraceError, match=f"^{program} does not run: "):
        core.missing(program)


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("lockdown", "caps", "message"),
    [
        ("none integrity [confidentiality]", ALL, "sign one that trace/build made"),
        ("[none]", NO_RIGHTS, "CAP_SYS_MODULE is missing: run it on the host"),
    ],
)
def test_where_none_works_each_says_why(
    tmp_path: Path,
    lockdown: str,
    caps: str,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(core, "missing", lambda _: [OLD])
    with pytest.raises(UserError) as refused:
        engines.choose(_asked(), _root(tmp_path, lockdown, caps))
    (line,) = refused.value.lines
    assert line.startswith(f"no engine works here: core: {OLD}; stap: ")
    assert message in line


def test_without_an_engine_the_packages_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(core, "BUILT", tmp_path / "nothing")  # by make core
    with pytest.raises(UserError, match=r"writestall-tracers.*install SystemTap"):
        engines.choose(_asked(), _root(tmp_path))


@pytest.mark.usefixtures("installed")
def test_without_headers_the_package_is_named(tmp_path: Path) -> None:
    root = _root(tmp_path)
    (root / f"lib/modules/{RELEASE}/build/Makefile").unlink()
    (root / f"lib/modules/{RELEASE}/build").rmdir()
    with pytest.raises(
        UserError, match=f"^--engine stap: .*install linux-headers-{RELEASE}"
    ):
        engines.choose(_asked("stap"), root)
    assert engines.choose(_asked("stap", Path("x.ko")), root)


@pytest.mark.parametrize(
    ("words", "said"),
    {
        "--pid=": "argument -p/--pid: want a process, and this is empty: did pgrep",
        "-p 4194304": "--pid 4194304: no such process; ps -e lists them",
        "--path /dev/shm": "--path /dev/shm: it is on a ",
        "--path /no/such": "--path /no/such: No such file or directory",
        "--device /dev/null": "--device /dev/null: no block device",
        "--comm sixteen-letters-": "a name has 1 to 15 bytes",
        "--comm ''": "--comm '': a name has 1 to 15 bytes",
        "--device ''": "--device '': No such file or directory",
        "--device 999:999": "--device 999:999: no such device; lsblk lists them",
        "--path ''": "argument --path: want a path, and this is empty",
        "-- ''": "'': no such command; is it on root's PATH?",
        "-p 2": "--pid 2: a kernel thread, which makes no calls; ps -e lists",
        "--stall 2ms --floor 5ms": "5.00 ms is above 2.00 ms: give both",
        "-p 1 -- true": "leave out --pid and --comm",
        "-- no-such-command": "no-such-command: no such command",
        "--for 5": "want a time with its unit, like 50ms or 2m, up to 24h (units: ns,",
        "--stall 0ms": "want a time with its unit, like 50ms",
        "--most-mib 0": "want a whole number, 1 or more",
        "--module no.ko": "--module no.ko: no such file; trace/build makes it",
    }.items(),
)
def test_what_is_asked_for_is_refused_in_one_line(
    words: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["record", *shlex.split(words)], checkout=checkout) == 2
    message = capsys.readouterr()
    assert message.out == ""
    (line,) = message.err.splitlines()
    assert said in line


def test_a_thread_gets_its_process(capsys: pytest.CaptureFixture[str]) -> None:
    ending = threading.Event()
    other = threading.Thread(target=ending.wait)
    other.start()
    assert main(["record", "-p", str(other.native_id)], checkout=checkout) == 2
    ending.set()
    other.join()
    assert f"a thread of process {os.getpid()}; give that" in capsys.readouterr().err


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    for place, said in (
        (tmp_path / "file", "file: File exists; name another with -o"),
        (tmp_path / "file/run", "file: File exists; name another with -o"),
        (tmp_path, "exists and is not empty; name a new one with -o"),
    ):
        with pytest.raises(UserError, match=said):
            new_folder(place, Path)
    assert (tmp_path / "file").read_text() == "kept"


def test_times_have_units() -> None:
    read = time_up_to(3600 * 10**9)
    message = {text: read(text) for text in ("50ms", "1.5s", "2m", "1h", "100us")}
    assert list(message.values()) == [
        50_000_000,
        1_500_000_000,
        120 * 10**9,
        3600 * 10**9,
        100_000,
    ]
    for text in ("2h", "5", "", "0.1us", "-5ms", "\u0665s"):
        with pytest.raises(argparse.ArgumentTypeError):
            read(text)


@pytest.mark.parametrize(
    ("given", "taken"),
    [((None, None), (50, 1)), ((0.5, None), (0.5, 0.5)), ((0.5, 0.2), (0.5, 0.2))],
)
def test_the_shortest_sleep_is_not_above_the_shortest_stall(
    given: tuple[float | None, float | None], taken: tuple[float, float]
) -> None:
    stall_ns, floor_ns = (ms and int(ms * 10**6) for ms in given)
    args = argparse.Namespace(stall_ns=stall_ns, floor_ns=floor_ns, engine=None)
    fill(args, SELECTION)
    assert (args.stall_ns / 1e6, args.floor_ns / 1e6) == taken
