# SPDX-License-Identifier: GPL-2.0-only
"""This test will name addresses of its own process and of programs that it compiles."""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from foreign import files, functions, maps
from foreign.symbol_table import Function
from launcher import user_symbols
from launcher.user_symbols import UserSymbols
from writestall_base.elf import Elf

SOURCE = """
#include <unistd.h>
int set = 1, zero[5000];
static int own;
__attribute__((noinline)) static void inner(void) { own = pause(); }
__attribute__((noinline)) void outer(void) { inner(); __asm__ volatile(""); }
int main(void) { outer(); return 0; }
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with a static function and one that all can see."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "known.c").write_text(SOURCE)
    made = folder / "known ] one"
    command = ["gcc", "-g0", "-O0", "-Wl,--build-id", "-rdynamic", "-o", str(made)]
    subprocess.run([*command, str(folder / "known.c")], check=True)
    return made


def functions_of(path: Path, debug: Path | None = None) -> dict[str, Function]:
    with path.open("rb") as file, (debug or path).open("rb") as more:
        descriptors = [file.fileno(), *([more.fileno()] if debug else [])]
        return {row.name: row for row in functions.read(*descriptors).functions}


def test_functions_of_a_file(program: Path) -> None:
    found = functions_of(program)
    assert {"inner", "outer", "main"} <= set(found)
    assert found["inner"].size > 0


def test_a_stripped_file_has_what_it_exports(program: Path, tmp_path: Path) -> None:
    """And all of them again with its debug file, by the build id."""
    bare = tmp_path / "bare"
    shutil.copy(program, bare)
    subprocess.run(["strip", str(bare)], check=True)
    assert "outer" in functions_of(bare) and "inner" not in functions_of(bare)
    notes = subprocess.run(
        ["readelf", "-n", str(bare)], capture_output=True, text=True, check=True
    )
    (build_id,) = [
        line.split()[-1] for line in notes.stdout.splitlines() if "Build ID" in line
    ]
    with bare.open("rb") as file:
        assert Elf.of_file(file.fileno()).build_id() == build_id
    assert functions_of(bare, program)["inner"] == functions_of(program)["inner"]


def test_a_debug_file_is_found_by_its_build_id(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare, debug = tmp_path / "bare", tmp_path / "debug"
    shutil.copy(program, bare)
    subprocess.run(["strip", str(bare)], check=True)
    with bare.open("rb") as file:
        id = Elf.of_file(file.fileno()).build_id()
    (debug / id[:2]).mkdir(parents=True)
    shutil.copy(program, debug / id[:2] / f"{id[2:]}.debug")
    monkeypatch.setattr("launcher.user_symbols.DEBUG", debug)
    with running(bare) as pid:
        code = next(row for row in maps.read(pid) if row.path == str(bare))
        inner = functions_of(program)["inner"].start - code.offset + code.start
        assert UserSymbols(10).stack(pid, [inner]) == ["inner+0x0 [bare]"]


@pytest.mark.parametrize("bytes_kept", [0, 3, 64, 200, 4000])
def test_a_file_cut_short_does_no_harm(
    program: Path, tmp_path: Path, bytes_kept: int
) -> None:
    cut = tmp_path / "cut"
    cut.write_bytes(program.read_bytes()[:bytes_kept])
    assert functions_of(cut) == {}


@contextmanager
def running(program: Path) -> Iterator[int]:
    """A process of the program, asleep in pause(2); its id."""
    with subprocess.Popen([str(program)]) as process:
        until_s = time.monotonic() + 10
        while time.monotonic() < until_s:
            state = Path(f"/proc/{process.pid}/wchan").read_text()
            if "pause" in state:
                break
            time.sleep(0.01)
        try:
            yield process.pid
        finally:
            process.kill()


def place(pid: int, program: Path, name: str) -> int:
    """Where a function or variable of the program is in a process."""
    first = next(row for row in maps.read(pid) if row.path == str(program))
    with program.open("rb") as file:
        known = functions.read(file.fileno())
    return first.start + functions_of(program)[name].start - known.address(first.offset)


def test_frames_of_another_process(program: Path, tmp_path: Path) -> None:
    """The innermost is where it is, the others where they will return to; a program
    that was replaced since is named all the same."""
    mine = tmp_path / "known ] one"
    shutil.copy(program, mine)
    with running(mine) as pid:
        inner, outer = (place(pid, mine, name) for name in ("inner", "outer"))
        mine.unlink()
        names = UserSymbols(10).stack(pid, [inner, outer + 9, inner, 4096])
    assert names == [
        "inner+0x0 [known___one]",
        "outer+0x9 [known___one]",
        # A return address at a function's start: the call was the last of another.
        names[2],
        None,
    ]
    assert names[2] and not names[2].startswith("inner+")


def test_what_is_known_outlives_the_process(program: Path) -> None:
    users = UserSymbols(10)
    with running(program) as pid:
        inner = place(pid, program, "inner")
        assert users.stack(pid, [inner]) == ["inner+0x0 [known___one]"]
    time.sleep(1.1)
    assert users.stack(pid, [inner]) == ["inner+0x0 [known___one]"]
    assert UserSymbols(10).stack(pid, [inner]) == [None]


def test_a_line_of_events_is_named() -> None:
    libc = ctypes.CDLL(None)
    at = ctypes.cast(libc.fsync, ctypes.c_void_p).value
    event = {"ev": "write", "pid": os.getpid(), "ustack": [f"0x{at:x}", "0x10"], "x": 1}
    line = json.dumps(event, separators=(",", ":")).encode()
    found = json.loads(UserSymbols(10).named(line))
    assert found == event | {"ustack": [found["ustack"][0], "0x10"]}
    assert found["ustack"][0].startswith("fsync+0x0 [libc")


@pytest.mark.parametrize(
    ("variable", "offset"), [("set", 0), ("own", 0), ("zero", 4), ("zero", 19_999)]
)
def test_a_futex_is_named_by_its_variable(
    program: Path, variable: str, offset: int
) -> None:
    """Also one that the file leaves out as zeroes, and which lies in no part of it."""
    with running(program) as pid:
        at = place(pid, program, variable) + offset
        event = {"ev": "block", "pid": pid, "lock": "futex", "lock_at": hex(at)}
        line = json.dumps(event | {"holder": None}, separators=(",", ":")).encode()
        found = json.loads(UserSymbols(10).named(line))
    named = f"{variable}+{offset:#x} [known___one]"
    assert found == event | {"lock_in": named, "holder": None}


def test_a_futex_of_no_variable_keeps_its_address() -> None:
    memory = ctypes.create_string_buffer(1 << 20)
    at = ctypes.addressof(memory)
    line = f'{{"pid":{os.getpid()},"lock":"futex","lock_at":"{at:#x}"}}'.encode()
    assert UserSymbols(10).named(line) == line


def test_slow_look_ups_hold_events_back_for_a_tenth_of_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each takes 0.2 s, and each stack is a new one: none is named any more when the
    credit is used up, and the events go on."""
    monkeypatch.setattr(user_symbols, "MOST_CREDIT_S", 0.5)

    def names(*_: object) -> list[str]:
        time.sleep(0.2)
        return ["f+0x0 [x]"]

    monkeypatch.setattr(user_symbols._Table, "names", names)
    users = UserSymbols(0.3)
    began_s, named = time.monotonic(), 0
    for at in range(40):
        named += users.stack(1, [at]) == ["f+0x0 [x]"]
        time.sleep(0.05)
    took_s = time.monotonic() - began_s
    assert 2 <= named < 8
    assert took_s < 40 * 0.05 + 0.5 + 0.2 * took_s + 0.3


def test_the_stacks_that_are_remembered_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Any user chooses the names of his functions, and how many stacks he has."""
    users = UserSymbols(10)
    name = ["f" * 100]
    monkeypatch.setattr(users, "stack", lambda _, addresses: name * len(addresses))
    for at in range(2 * user_symbols.MOST_STACKS):
        users.named(f'{{"pid":1,"ustack":["{at:#x}"]}}'.encode())
    assert len(users._texts) == user_symbols.MOST_STACKS
    name[0] *= 512
    for at in range(2 * user_symbols.MOST_STACKS):
        line = f'{{"pid":2,"ustack":["{at:#x}"]}}'.encode()
        assert name[0].encode() in users.named(line)
    most = user_symbols.MOST_STACKS * user_symbols.MOST_TEXT_BYTES
    kept = ((len(key[1]), len(text)) for key, (_, text) in users._texts.items())
    assert sum(map(sum, kept)) <= most


def test_a_stack_that_comes_again_is_not_looked_up_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    users = UserSymbols(10)
    asked: list[tuple[int, ...]] = []

    def stack(pid: int, addresses: Sequence[int]) -> list[str | None]:
        asked.append((pid, *addresses))
        return [f"f{pid}+0x0 [x]"] * len(addresses)

    monkeypatch.setattr(users, "stack", stack)
    for _ in range(3):
        for pid in (1, 2):
            line = f'{{"ev":"block","pid":{pid},"ustack":["0x10"],"x":1}}'
            named = line.replace('"0x10"', f'"f{pid}+0x0 [x]"')
            assert users.named(line.encode()) == named.encode()
    assert asked == [(1, 0x10), (2, 0x10)]


@pytest.mark.parametrize(
    "line",
    [
        b'{"ev":"block","t_ns":1}',
        b'{"ev":"write","pid":1,"ustack":[]}',
        b'{"ev":"write","pid":null,"ustack":["0x1"]}',
        b'{"ev":"write","pid":1,"comm":"\\"ustack\\":[\\"0x1\\"]","ustack":[]}',
    ],
)
def test_other_lines_stay_as_they_are(line: bytes) -> None:
    assert UserSymbols().named(line) == line


@contextmanager
def compiled_code() -> Iterator[maps.Mapping]:
    """Memory of no file that may be executed, as a JVM has it."""
    with mmap.mmap(
        -1,
        4096,
        flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS,
        prot=mmap.PROT_READ | mmap.PROT_EXEC,
    ):
        (row,) = [
            row
            for row in maps.read(os.getpid())
            if not row.path and not row.behind and row.end - row.start == 4096
        ]
        yield row


def test_a_map_that_is_missing_is_not_sought_for_each_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A JVM has none unless it is asked for one."""
    sought: list[int] = []
    perf_map = files.Process.perf_map

    def seek(process: files.Process) -> int:
        sought.append(process.pid)
        return perf_map(process)

    monkeypatch.setattr(files.Process, "perf_map", seek)
    monkeypatch.setattr(user_symbols, "MAPS_LAST_S", 3600.0)
    with compiled_code() as row:
        users = UserSymbols(10)
        frames = [row.start + 4, row.start + 0x50]
        assert users.stack(os.getpid(), frames) == [None, None]
        assert sought == [os.getpid()]
        monkeypatch.setattr(user_symbols, "MAPS_LAST_S", 0.0)
        users = UserSymbols(10)
        for _ in range(2):
            users.stack(os.getpid(), frames[:1])
        assert len(sought) == 3


def test_compiled_code_has_its_map() -> None:
    """As a JVM's: memory of no file, and /tmp/perf-PID.map."""
    listed = Path(f"/tmp/perf-{os.getpid()}.map")
    users = UserSymbols(10)
    with compiled_code() as row, ExitStack() as stack:
        stack.callback(listed.unlink)
        listed.write_text(f"{row.start:x} 40 Ljava/io/Log;::write\nnonsense\n")
        assert users.stack(os.getpid(), [row.start + 4, row.start + 0x50]) == [
            "Ljava/io/Log;::write+0x4 [JIT]",
            None,
        ]
        listed.write_text(f"{row.start:x} 80 recompiled by C2\n")
        assert users.stack(os.getpid(), [row.start + 0x50]) == [
            "recompiled by C2+0x50 [JIT]"
        ]


def test_a_look_up_that_hangs_keeps_nobody_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a process's maps do while it changes them and stalls."""
    ending = threading.Event()

    def hang(pid: int) -> list[maps.Mapping]:
        ending.wait(60)
        return []

    monkeypatch.setattr(maps, "read", hang)
    users = UserSymbols(0.05)
    begun_s = time.monotonic()
    for _ in range(100):
        assert users.stack(1, [0x1000]) == [None]
    assert time.monotonic() - begun_s < 1
    ending.set()
