# SPDX-License-Identifier: GPL-2.0-only
"""hazards: what happens to a machine while the module holds bios and is unloaded.

Each is a context: what it began is over when it ends, whatever became of it, and the
machine is as it was.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from stress_bed import PLACE, run

SYS = Path("/sys")
CPU = SYS / "devices/system/cpu/cpu1/online"
RULES = SYS / "kernel/config/biodelay"
RECORD = SYS / "kernel/debug/biodelay/record"
STATUS = RECORD.with_name("status")
PARAMETERS = SYS / "module/biodelay/parameters"
POWER = SYS / "power"
# How often what a hazard is about was reached: bios were held when a disk went, tasks
# were frozen.
reached: Counter[str] = Counter()
Hazard = Callable[[str], contextlib.AbstractContextManager[None]]


@contextmanager
def _thread(work: Callable[[], object]) -> Iterator[None]:
    """Do it beside what the context does; wait for its end."""
    failures: list[BaseException] = []

    def call() -> None:
        try:
            work()
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    try:
        yield
    finally:
        thread.join()
    if failures:
        raise failures[0]


@contextmanager
def nothing(module: str) -> Iterator[None]:
    """Only the load and the writers of attributes."""
    yield


@contextmanager
def cpu_goes(module: str) -> Iterator[None]:
    """A CPU is taken away and given back, three times."""

    def switch() -> None:
        for _ in range(3):
            for state in "01":
                CPU.write_text(state)

    with _thread(switch):
        yield


@contextmanager
def memory_is_short(module: str) -> Iterator[None]:
    """A process fills most of the memory that is left, and caches are dropped."""
    fill = (
        "import re; free = int(re.search(r'MemAvailable: +(\\d+)',"
        " open('/proc/meminfo').read())[1]); kept = bytearray(free * 1024 * 85 // 100);"
        " print('full', flush=True); input()"
    )
    filler = subprocess.Popen(
        [sys.executable, "-c", fill], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert filler.stdout
        filler.stdout.readline()
        Path("/proc/sys/vm/drop_caches").write_text("3")
        yield
    finally:
        filler.kill()
        filler.communicate()


def _endless(script: str) -> str:
    return f"while :; do {script}; done"


@contextmanager
def all_are_killed(module: str) -> Iterator[None]:
    """kill -9 of writers whose bios are held, of a reader, of those who write
    attributes, and of those who load and unload."""
    file = PLACE / "ext4/killed"
    write = f"dd if=/dev/zero of={file} bs=4k count=64 oflag=direct conv=notrunc"
    attributes = f"echo 1 >{PARAMETERS}/enabled; echo 9 >{PARAMETERS}/order"
    scripts = [
        *[_endless(write)] * 2,
        _endless(f"cat {RECORD}"),
        _endless(attributes),
        _endless(f"insmod {module}; mkdir {RULES}/killed; rmdir {RULES}/killed"),
        _endless("rmmod biodelay"),
    ]
    quiet = subprocess.DEVNULL
    running = [
        subprocess.Popen(
            ["bash", "-c", script], stdout=quiet, stderr=quiet, start_new_session=True
        )
        for script in scripts
    ]

    def kill() -> None:
        time.sleep(0.3)
        for process in running:
            os.killpg(process.pid, signal.SIGKILL)
        for process in running:
            process.wait()

    with _thread(kill):
        yield
    _none_left(running)


def _none_left(killed: list[subprocess.Popen[bytes]]) -> None:
    """Wait until no process of these sessions is left: a held one dies when its bio
    passes."""
    deadline_s = time.monotonic() + 60
    sessions = {process.pid for process in killed}
    while any(_session(path) in sessions for path in Path("/proc").glob("[0-9]*/stat")):
        assert time.monotonic() < deadline_s, "a killed process does not die"
        time.sleep(0.05)


def _session(stat: Path) -> int | None:
    """The session of a process, as in proc_pid_stat(5)."""
    try:
        return int(stat.read_text().rpartition(")")[2].split()[3])
    except OSError:
        return None


def _rule(name: str, disk: str, **attributes: object) -> None:
    """Arm a rule, unless the module goes meanwhile."""
    folder = RULES / name
    with contextlib.suppress(OSError):
        folder.mkdir()
        for key, value in ({"device": disk} | attributes | {"enabled": 1}).items():
            (folder / key).write_text(f"{value}\n")


def _held_on(disk: str) -> subprocess.Popen[bytes]:
    """A process whose direct writes to a disk are deferred for long."""
    _rule("gone", disk, mode="defer", delay_us=5_000_000, order=0)
    return subprocess.Popen(
        ["dd", "if=/dev/zero", f"of=/dev/{disk}", "bs=4k", "count=64", "oflag=direct"],
        stderr=subprocess.DEVNULL,
    )


def _is_holding() -> bool:
    """Whether the rule of _held_on() holds bios; others may have disarmed it."""
    with contextlib.suppress(OSError):
        return bool(re.search(r"^gone\.in_flight [1-9]", STATUS.read_text(), re.M))
    return False


def _appears(pattern: str) -> str:
    """The name of a disk that is like that, once it is there."""
    deadline_s = time.monotonic() + 30
    while not (found := sorted(Path("/sys/block").glob(pattern))):
        assert time.monotonic() < deadline_s, f"no {pattern}"
        time.sleep(0.02)
    name = found[0].name
    while not Path("/dev", name).exists():
        time.sleep(0.02)
    return name


@contextmanager
def scsi_disk_goes(module: str) -> Iterator[None]:
    """A SCSI disk is deleted while its bios are deferred."""
    before = {path.name for path in Path("/sys/block").iterdir()}
    run("modprobe", "scsi_debug", "dev_size_mb=8")
    deadline_s = time.monotonic() + 30
    while not (new := {path.name for path in Path("/sys/block").iterdir()} - before):
        assert time.monotonic() < deadline_s, "scsi_debug made no disk"
        time.sleep(0.02)
    disk = _appears(new.pop())
    writer = _held_on(disk)
    try:
        time.sleep(0.2)
        reached["delete with bios held"] += _is_holding()
        (SYS / "block" / disk / "device/delete").write_text("1")
        yield
    finally:
        writer.wait()
        run("modprobe", "--remove", "scsi_debug")


@contextmanager
def controller_is_unplugged(module: str) -> Iterator[None]:
    """The controller of a disk is removed while its bios are deferred, and comes back.

    It is taken from its driver, whose remove function an unplug calls as well
    (drivers/scsi/virtio_scsi.c, virtscsi_remove()), and stays on the PCI bus: QEMU 10
    aborts, once in some fifty times, while the guest places a device's memory again
    (system/physmem.c, iotlb_to_section()).
    """
    disk = _appears("sda")
    device = (SYS / "block" / disk / "device").resolve()
    controller = next(path for path in device.parents if path.name.startswith("virtio"))
    driver = (controller / "driver").resolve()
    writer = _held_on(disk)
    try:
        time.sleep(0.2)
        reached["unplug with bios held"] += _is_holding()
        (driver / "unbind").write_text(controller.name)
        yield
    finally:
        writer.wait()
        (driver / "bind").write_text(controller.name)
        _appears("sda")


@contextmanager
def tasks_are_frozen(module: str) -> Iterator[None]:
    """All tasks are frozen, as for a suspend, and thawed.

    Not the devices: virtio's 9p, which the shared folders are on, has no queue after a
    suspend (net/9p/trans_virtio.c has neither freeze nor restore).
    """
    (SYS / "module/suspend/parameters/pm_test_delay").write_text("0")
    (POWER / "pm_test").write_text("freezer")

    def suspend() -> None:
        # EBUSY: a task could not be frozen in time, and nothing was suspended.
        with contextlib.suppress(OSError):
            (POWER / "state").write_text("freeze")
            reached["freeze of all tasks"] += 1

    try:
        with _thread(suspend):
            yield
    finally:
        (POWER / "pm_test").write_text("none")


def known() -> dict[str, Hazard]:
    """The hazards that this machine has the means for, by their names."""
    table: dict[str, tuple[Hazard, Path]] = {
        "nothing": (nothing, SYS),
        "cpu": (cpu_goes, CPU),
        "memory": (memory_is_short, SYS),
        "kill": (all_are_killed, SYS),
        "delete": (scsi_disk_goes, SYS),
        "unplug": (controller_is_unplugged, SYS / "block/sda"),
        "freeze": (tasks_are_frozen, POWER / "pm_test"),
    }
    return {name: hazard for name, (hazard, needs) in table.items() if needs.exists()}
