# SPDX-License-Identifier: GPL-2.0-only
"""lab: provide a disk that stalls on command, and tracers.

Runs inside a guest, as root, on its scratch disk /dev/vdb. A stall is `dmsetup suspend`
below a file system: tasks that need the disk then sleep until `dmsetup resume`,
independently of the project's own injector.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).resolve().parents[2]
DISK = Path("/dev/vdb")
MOUNT = Path("/mnt/lab")
DEVICE = Path("/dev/mapper/lab")
CORE = "core"
ENGINES = ("stap", CORE)
# The name of each engine's process.
WORKERS = {"stap": "stapio", CORE: "stalled-writes"}
STALLS = "stalled_writes"
TYPES = Path("/sys/kernel/btf/vmlinux")
LAUNCHER = PROJECT / "trace/trace"
ARMED_WITHIN_S = 180
PAGE = 4096
Event = dict[str, Any]


class FoundError(Exception):
    """The difference between what was found and what was expected."""


def expect(truth: bool, message: str) -> None:
    """Fail the test with message unless truth holds."""
    if not truth:
        raise FoundError(message)


def run(*command: str | Path) -> str:
    """Output of a command that must succeed."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False
    )
    expect(done.returncode == 0, f"{command} failed: {done.stderr.strip()}")
    return done.stdout


def release() -> tuple[int, int]:
    """The running kernel's version: (6, 12)."""
    major, minor = os.uname().release.split(".")[:2]
    return int(major), int(minor)


def serving() -> tuple[str, ...]:
    """The engines that work on the running kernel: core needs its types."""
    return ENGINES if TYPES.exists() and release() >= (5, 10) else ENGINES[:1]


class Disk:
    """A file system on a device-mapper device over the scratch disk."""

    def __init__(self) -> None:
        self._device_number = DEVICE.stat().st_rdev
        self.dev = f"{os.major(self._device_number)}:{os.minor(self._device_number)}"

    @contextmanager
    def stalled(self) -> Iterator[None]:
        """Suspend the disk: nothing reaches it, and writers may dirty pages."""
        run("dmsetup", "suspend", "--nolockfs", "--noflush", "lab")
        try:
            yield
        finally:
            run("dmsetup", "resume", "lab")


def mounts(kind: str) -> bool:
    """Whether the kernel has that file system, which one of somebody's own need not."""
    subprocess.run(["modprobe", "--quiet", kind], check=False)
    found = kind in Path("/proc/filesystems").read_text().split()
    if not found:
        print(f"no {kind} in this kernel: not asked")
    return found


def xfs() -> str:
    """mkfs.xfs with the features that an old kernel can mount; the oldest of its files
    serves what is older, too."""
    known = max(release(), (4, 19))
    options = Path("/usr/share/xfsprogs/mkfs/lts_{}.{}.conf".format(*known))
    return f"mkfs.xfs -q -f{f' -c options={options}' if options.exists() else ''}"


# With inode tables: the kernel otherwise writes them later, by ext4lazyinit, which
# holds a handle meanwhile (fs/ext4/ialloc.c, ext4_init_inode_table()). On a stalled
# disk every commit would wait for that handle.
EXT4 = "mkfs.ext4 -q -F -E lazy_itable_init=0"


@contextmanager
def device() -> Iterator[Disk]:
    """Create the stalling disk, and remove it at the end."""
    sectors = run("blockdev", "--getsz", DISK).strip()
    run("dmsetup", "create", "lab", "--table", f"0 {sectors} linear {DISK} 0")
    run("dmsetup", "mknodes")
    try:
        yield Disk()
    finally:
        run("dmsetup", "remove", "--retry", "lab")


@contextmanager
def disk(mkfs: str = EXT4) -> Iterator[Disk]:
    """The same with a file system, mounted."""
    with device() as found:
        run(*mkfs.split(), DEVICE)
        MOUNT.mkdir(parents=True, exist_ok=True)
        run("mount", DEVICE, MOUNT)
        try:
            yield found
        finally:
            run("umount", MOUNT)


def unread(name: str, pages: int = 64) -> Path:
    """A file with blocks on the disk and no pages in memory."""
    path = MOUNT / name
    path.write_bytes(b"x" * pages * PAGE)
    fd = os.open(path, os.O_RDWR)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
    os.sync()
    return path


def launcher(engine: str) -> list[str]:
    """Return the command that traces with an engine, without a script."""
    return [str(LAUNCHER), "--engine", engine]


def parts(engine: str, script: str, modules: Path) -> list[str]:
    """The compiled parts of an engine; core/ is beside the folder of the modules."""
    if engine == CORE:
        return ["--program", str(modules.parent / "core/stalled-writes")]
    return ["--module", str(modules / f"{script}.ko")]


def environment(modules: Path) -> dict[str, str]:
    """Variables with which `record` and `watch` find the compiled tracer."""
    return os.environ | {"PATH": f"{modules.parent / 'core'}:{os.environ['PATH']}"}


class Tracer:
    """A running launcher of one engine, its lines in a file."""

    def __init__(self, engine: str, script: str, modules: Path, *options: str) -> None:
        self.engine = engine
        self.script = script
        self.beside = [self]  # those that end together
        self._told = False
        self.output = Path(f"/tmp/{engine}-{script}-{os.getpid()}.jsonl")
        self.messages = self.output.with_suffix(".log")
        command = [*launcher(engine), script, *options]
        self.output.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [*command, *parts(engine, script, modules), "--output", self.output],
            stderr=self.messages.open("w"),
        )

    def wait_armed(self) -> None:
        """Return once the `begin` line is printed."""
        until(lambda: self.lines() > 0 or self.process.poll() is not None)
        expect(self.process.poll() is None, f"{self.engine}: {self.complaint()}")
        message = f"{self.script} on {os.uname().release}; stop with Ctrl-C"
        expect(message in self.messages.read_text(), f"{message!r} is not what it says")

    def lines(self) -> int:
        """Complete lines so far."""
        return self.output.read_bytes().count(b"\n") if self.output.exists() else 0

    def complaint(self) -> str:
        """The last messages of the launcher and its engine."""
        return " | ".join(self.messages.read_text().splitlines()[-5:])

    def events(self) -> list[Event]:
        """Every line as an event; a line that is not JSON fails the test."""
        text = self.output.read_bytes().decode()  # strict UTF-8
        expect(text.endswith("\n"), f"{self.engine}: the last line is cut off")
        return [json.loads(line) for line in text.splitlines()]

    def stop(self, number: int = signal.SIGINT) -> list[Event]:
        """Stop in order, with those beside it: each waits for seconds for the kernel to
        let go of its probes. Return the events without begin and end, which are
        checked."""
        for one in self.beside:
            one._tell(number)
        status = self.process.wait(timeout=ARMED_WITHIN_S)
        expect(status == 0, f"{self.engine} ended with {status}: {self.complaint()}")
        events = self.events()
        expect(events[0]["ev"] == "begin", f"{self.engine}: first line {events[0]}")
        expect(events[-1]["ev"] == "end", f"{self.engine}: last line {events[-1]}")
        # those of cgroups are the launcher's own
        inner = [event for event in events[1:-1] if event["ev"] != "cgroup"]
        expect(events[-1]["events"] == len(inner), f"{self.engine}: end miscounts")
        lost = [event for event in inner if event["ev"] == "lost"]
        expect(not lost and not events[-1]["lost"], f"{self.engine} lost: {lost}")
        return inner

    def _tell(self, number: int) -> None:
        if not self._told and self.process.poll() is None:
            self.process.send_signal(number)
        self._told = True

    def end(self) -> None:
        """Stop it in any case."""
        self._tell(signal.SIGINT)
        self.process.wait(timeout=ARMED_WITHIN_S)


@contextmanager
def tracing(
    modules: Path,
    engines: tuple[str, ...],
    *options: str,
    script: str = "stalled_writes",
) -> Iterator[list[Tracer]]:
    """Armed tracers; stopped at the end in any case."""
    tracers = [Tracer(engine, script, modules, *options) for engine in engines]
    try:
        for tracer in tracers:
            tracer.beside = tracers
            tracer.wait_armed()
        yield tracers
    finally:
        for tracer in tracers:
            tracer.end()


def until(
    condition: Callable[[], bool],
    limit_s: float = ARMED_WITHIN_S,
    every_s: float = 0.01,
) -> None:
    """Wait for a condition, with a time limit as a failure guard. One that takes time
    itself is asked less often, or it keeps a CPU from what it waits for."""
    deadline = time.monotonic() + limit_s
    while not condition():
        expect(time.monotonic() < deadline, f"nothing happened within {limit_s} s")
        time.sleep(every_s)


def contents(path: Path) -> str:
    """The content of a file below /proc; empty if it is gone."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def _stat(pid: int | str) -> list[str]:
    """What follows the name of a task (proc(5), stat); nothing if it has ended."""
    return contents(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()


def state_of(tid: int) -> str:
    """One letter: R, S, D, Z... (proc(5), stat)."""
    return _stat(tid)[0]


def descendants(pid: int) -> list[int]:
    """Every process below pid, nearest first; not every kernel has a list of children
    (CONFIG_PROC_CHILDREN)."""
    tasks = [path.name for path in Path("/proc").glob("[0-9]*")]
    below = [int(task) for task in tasks if _stat(task)[1:2] == [str(pid)]]
    return below + [further for child in below for further in descendants(child)]


def wait_blocked(tid: int, what: str = "a task") -> None:
    """Return once the task sleeps uninterruptibly and keeps doing so, or fail."""
    seen = 0

    def twenty_times() -> bool:
        nonlocal seen
        state = state_of(tid)
        expect(state != "Z", f"{what} ended, and was to wait for the disk")
        seen = seen + 1 if state == "D" else 0
        return seen == 20

    until(twenty_times)


def child(body: Callable[[], None]) -> int:
    """Fork a task that runs body and exits; its pid."""
    pid = os.fork()
    if pid == 0:
        try:
            body()
            os._exit(0)
        except BaseException as error:
            print(f"child: {error!r}", file=sys.stderr, flush=True)
            os._exit(1)
    return pid


def reap(pid: int) -> int:
    """Wait for a child; return its exit status as a shell shows it."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def stalled_child(lab: Disk, body: Callable[[], None], hold_s: float) -> int:
    """A child whose body needs the disk, held for hold_s; return its pid, reaped."""
    with lab.stalled():
        pid = child(body)
        wait_blocked(pid)
        time.sleep(hold_s)
    expect(reap(pid) == 0, "the child failed")
    return pid


def writes_to(lab: Disk, events: list[Event]) -> list[Event]:
    """The `write` events on the stalling disk."""
    return [e for e in events if e["ev"] == "write" and e["dev"] == lab.dev]


def status_of(program: Callable[[], int]) -> int:
    """The status of a program that is not a test: 1 and one line if it fails."""
    try:
        return program()
    except FoundError as error:
        print(f"{Path(sys.argv[0]).stem}: {error}", file=sys.stderr)
        return 1


def main(test: Callable[[argparse.Namespace], None]) -> int:
    """Run a test and print its verdict, one line; 0 or 1."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--modules", type=Path, required=True, help="folder of *.ko")
    parser.add_argument("--cycles", type=int, default=50)
    parser.add_argument("--engine", choices=WORKERS, action="append")
    parser.add_argument("--fs", choices=("ext4", "xfs"), default="ext4")
    name = Path(sys.argv[0]).name
    try:
        test(parser.parse_args())
    except FoundError as error:
        print(f"{name}: FAILED: {error}")
        return 1
    print(f"{name}: ok")
    return 0
