# SPDX-License-Identifier: GPL-2.0-only
"""keys: the tables of a scenario file, a frozen record each."""

# ruff: noqa: RUF009 -- key() makes a dataclass field, as dataclasses.field() does.

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from labrun.scenario.kinds import (
    Broker,
    Client,
    Command,
    Fio,
    Safepoint,
    environment_key,
    interval_key,
    kind_key,
    named_key,
    slow_key,
)
from labrun.scenario.rule import INJECTORS, Inject, version_key
from labrun.scenario.schema import key, number_key
from writestall_base.releases import version
from writestall_base.wait_classes import WAIT_CLASSES

# Options go to mkfs and mount unchanged; there is no shell.
SYSCTL = r"[a-z0-9_]+(\.[a-z0-9_-]+)+"
QUEUE = r"[a-z_]+"


@dataclass(frozen=True)
class KernelRange:
    """Kernels on which the stall is expected."""

    min: str = version_key("oldest release")
    max: str | None = version_key("newest release", None)

    def excludes(self, release: str) -> str:
        """Why the stall is not expected on a kernel of that release; or nothing."""
        here, newest = version(release), version(self.max or release)
        if version(self.min) <= here <= newest:
            return ""
        return (
            f"kernel {release} is outside the scenario's range,"
            f" {self.min} to {self.max or 'any'}"
        )


@dataclass(frozen=True)
class FileSystem:
    """The file system on the scratch disk, and its mount options."""

    type: str = key("file system", choices=("ext4", "xfs", "btrfs", "f2fs", "tmpfs"))
    mkfs_options: tuple[str, ...] = key("arguments of mkfs.TYPE before the disk", ())
    mount_options: tuple[str, ...] = key("options of mount -o", ())
    external_journal: bool = key(
        "ext4's journal on a disk of its own, --journal-disk", False
    )
    loop: bool = key(
        "on a loop device over the disk, whose queue is the one of [queue]", False
    )
    aged_percent: int = number_key(
        "age it first: files come and go at so much of its space; 0: new",
        (0, 90),
        0,
        "%",
    )


PACKAGE = r"[a-z0-9][a-z0-9+.-]+"


@dataclass(frozen=True)
class Machine:
    """What the machine of a run must have."""

    packages: tuple[str, ...] = key(
        "Debian packages of the programs; the lab adds them to its VM",
        (),
        pattern=PACKAGE,
        pattern_help="a package's name like etcd-server",
    )
    jars: str | None = named_key(
        "a list of Maven artefacts, repro/apps/NAME.jars; the lab fetches them, and"
        " shows them to its VM at /mnt/jars",
        None,
    )
    memory_mib: int = number_key("memory of the lab's VM", (512, 1 << 20), 2048, "MiB")


@dataclass(frozen=True)
class Memory:
    """The limit on the writers' memory."""

    limit_bytes: int = number_key(
        "of all writers together; the rest is swapped to the scratch disk, which"
        " carries nothing else",
        (1 << 22, 1 << 40),
        unit="bytes",
    )


@dataclass(frozen=True)
class Cgroup:
    """A cgroup of version 2 that workloads run in."""

    name: str = named_key("name, which workloads have as `cgroup`")
    io_max: dict[str, str | int] = key(
        "its limits on the scratch disk, bytes or operations per second",
        dict,
        pattern="[rw](bps|iops)",
        pattern_help="rbps, wbps, riops or wiops",
    )
    io_weight: int | None = number_key(
        "its share of a busy disk, as blk-iocost deals it out; 100 where not given",
        (1, 10_000),
        None,
    )


@dataclass(frozen=True, kw_only=True)
class Workload(Client):
    """One process of latwriter; the first workload is the measured client."""

    kind: str = kind_key("latwriter")
    interval_us: int = interval_key("time between two intended writes of one thread")
    writers: int = number_key("threads", (1, 1024), 1)
    shared_file: bool = key("all threads write one file", False)
    region_bytes: int = number_key(
        "overwrite at random inside a region of this size; 0: append",
        (0, 1 << 40),
        0,
        "bytes",
    )
    fsync_every: int = number_key(
        "fsync after every Nth write; 0: never", (0, 2**31 - 1), 0
    )
    slow_us: int = slow_key("calls of at least this length go to the slow log")


# Programs that write on a schedule of ours; a command has its own.
Scheduled = Workload | Safepoint | Broker | Fio
AnyWorkload = Scheduled | Command


def sleep_key(help: str, default_us: int) -> Any:
    return key(help, default_us, unit="us", minimum=1, maximum=60_000_000)


def ms_key(help: str, *default: None) -> Any:
    return key(help, *default, unit="ms", minimum=0, maximum=3_600_000)


@dataclass(frozen=True)
class Trace:
    """The thresholds of the tracers."""

    floor_us: int = sleep_key("shortest sleep that gives a block event", 1_000)
    stall_us: int = sleep_key(
        "least sleep in one call that gives a write event", 50_000
    )


@dataclass(frozen=True)
class Expect:
    """What the run must show."""

    chain: tuple[str, ...] = key(
        "classes that must follow each other in a chain", choices=WAIT_CLASSES
    )
    stalled_writes_min: int = number_key("least number of stalled writes", (0, 10**9))
    stall_ms_min: int = ms_key("least length of each of them")
    stalled_writes_max: int | None = number_key(
        "greatest number of stalled writes, of any length", (0, 10**9), None
    )
    unheld_chain: tuple[str, ...] = key(
        "`chain` for injectors that hold no task: dm-delay, scsi_debug",
        (),
        choices=WAIT_CLASSES,
    )
    writer_untouched: bool = key("no rule may match the writer itself", True)
    pause_ms_min: int | None = ms_key("least length of the longest pause", None)
    logging_ms_max: int | None = ms_key(
        "greatest time that a pause spends on logging its line", None
    )
    threads_stopped: int | None = number_key(
        "least number of threads stopped in the longest pause", (0, 1024), None
    )
    request_ms_min: int | None = ms_key("least length of the slowest request", None)
    writes_p999_below_us: int | None = number_key(
        "99.9 % of the calls take less than this", (1, 3_600_000_000), None, "us"
    )


@dataclass(frozen=True)
class Variant:
    """The scenario with one change, such as a remedy."""

    name: str = named_key("name after the scenario's name and a colon")
    purpose: str = key("one sentence: what is different")
    expect: Expect = key("what the run must show instead")
    filesystem: FileSystem | None = key("file system instead of the scenario's", None)
    cgroup: tuple[Cgroup, ...] | None = key(
        "cgroups instead of the scenario's, of the same names", None, maximum=16
    )
    asynchronous: bool = key("the first workload's log is asynchronous", False)
    on_tmpfs: bool = key("the first workload's log is on a tmpfs", False)
    environment: dict[str, str | int] = environment_key("more variables for commands")


@dataclass(frozen=True)
class Scenario:
    """A named, repeatable stall."""

    name: str = named_key("the file's name without .toml")
    purpose: str = key("one sentence: what stalls, and why")
    duration_s: int = number_key("length of the workload", (1, 86_400), unit="s")
    kernel: KernelRange = key("kernels it is known on")
    filesystem: FileSystem = key("the file system on the disk")
    workload: tuple[AnyWorkload, ...] = key(
        "processes that write concurrently", minimum=1, maximum=16
    )
    expect: Expect | None = key("what the run must show", None)
    inject: tuple[Inject, ...] = key(
        "rules of the injector, first match wins", (), maximum=16
    )
    injectors: tuple[str, ...] = key(
        "those that cause its chain if they can do its rules; others are refused",
        INJECTORS,
        choices=INJECTORS,
    )
    sysctl: dict[str, str | int] = key(
        "settings during the run, restored afterwards",
        dict,
        pattern=SYSCTL,
        pattern_help="a sysctl's name like vm.dirty_expire_centisecs",
    )
    queue: dict[str, str | int] = key(
        "attributes of the disk's queue, set before mkfs, restored at the end",
        dict,
        pattern=QUEUE,
        pattern_help="a file of /sys/block/DISK/queue",
    )
    machine: Machine = key("what the machine must have", Machine)
    memory: Memory | None = key("a limit on the writers' memory", None)
    cgroup: tuple[Cgroup, ...] = key("cgroups that workloads run in", (), maximum=16)
    trace: Trace = key("what the tracers print", Trace)
    seed: int = number_key("seed of all random numbers", (0, 2**63 - 1), 1)
    variant: tuple[Variant, ...] = key(
        "what the scenario is compared with", (), maximum=16
    )
