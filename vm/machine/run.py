# SPDX-License-Identifier: GPL-2.0-only
"""run: run a command in a throwaway machine and return its exit status.

Why we start QEMU ourselves and do not use virtme-ng: docs/measured.md.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from machine import (
    accel,
    cache,
    host_load,
    image,
    initramfs,
    jars,
    layer,
    qemu,
    recipe,
    snapshot,
    statuses,
    tsc,
    vmlinux,
    wakes,
    watch,
)
from machine.channels import Channels
from machine.host_load import Reading
from writestall_base import JARS, files

GUEST_PROJECT = "/mnt/writestall"
# A guest boots in seconds, on a busy host in a minute. One that takes longer hangs: an
# emulated CPU was seen without timer interrupts ("Possible timer handling issue on
# cpu=1", kernel/rcu/tree_stall.h).
BOOT_S = 300.0
BEGUN = "begun\n"  # what guest.sh prints before it starts the command
# About one boot of fifty fails under TCG: QEMU 10 aborts while the guest moves its
# PCI windows (seen: iotlb_to_section and msix_table_mmio_write assertions), or the
# guest faults in text it patches (watch.stale_int3()).
MOST_STARTS = 3
RANDOM_BYTES = 512  # for the guest's generator: machines may share their boot
BROKEN = (signal.SIGABRT, signal.SIGSEGV)  # how QEMU ends by itself
# Consoles and kernel logs in the cache, of machines that ended well and of others; what
# is kept of each.
CONSOLES_KEPT = 100
MOST_KEPT_BYTES = 1 << 20
MOST_COMPLAINTS = 8  # printed: a stage of the driver shows some lines of its end


@dataclass(frozen=True)
class Job:
    """One command, its machine and its limits."""

    argv: tuple[str, ...]
    kernel: str | None = None
    accel: str | None = None  # None: accel.choose() decides
    full_image: bool = False
    packages: tuple[str, ...] = ()  # besides those of the image
    jars: Path | None = None  # a list of Maven artefacts
    shares: tuple[qemu.Share, ...] = ()
    disk_bytes: int = 2 << 30
    disks: Path | None = None  # where to keep the scratch disks; None: do not
    log_writes: bool = False  # of the scratch disks, beside them
    memory_bytes: int = 2 << 30
    cpus: int = 2
    timeout_s: float | None = 600
    cwd: str = GUEST_PROJECT
    console: Path | None = None
    log: Path | None = None
    excused_frames: str | None = None
    expected: tuple[str, ...] = ()  # lines of level warning or worse, as expressions
    interactive: bool = False


@dataclass
class Result:
    """How the machine ended; save() writes it as JSON."""

    outcome: str = "lost"  # ended, splat, lost, cut, timeout
    status: int | None = None
    boot_s: float | None = None
    complaints: list[str] = field(default_factory=list)
    accel: str = ""
    accel_reason: str = ""
    qemu: str = ""
    kernel: str = ""
    resumed: bool = False  # from a saved state, and boot_s is mostly that one's
    starts: int = 0  # more than 1: it failed before the command began
    console: str = ""  # where its copy is kept
    host: dict[str, Any] = field(default_factory=dict)  # host_load.between()
    emulator: str = ""  # what QEMU did wrong, if that is known: the guest is not judged

    @property
    def exit_status(self) -> int:
        """The command's own status, or the reserved one for the machine."""
        reserved = {
            "splat": statuses.EXIT_SPLAT,
            "lost": statuses.EXIT_LOST,
            "cut": statuses.EXIT_CUT,
            "timeout": statuses.EXIT_TIMEOUT,
        }
        return reserved.get(self.outcome, self.status or 0)


def _write_job(
    folder: Path, job: Job, shares: tuple[qemu.Share, ...], compiler: str | None
) -> None:
    """Write the files that init.sh and guest.sh find in /run/job; time_s is now."""
    table = "".join(
        f"share{i} {share.folder} {'ro' if share.read_only else 'rw'}\n"
        for i, share in enumerate(shares, 1)
    )
    columns, rows = shutil.get_terminal_size()
    files = {
        "guest": (recipe.VM / "guest.sh").read_bytes(),
        "argv": b"".join(word.encode() + b"\0" for word in job.argv),
        "cwd": job.cwd.encode(),
        "shares": table.encode(),
        "mode": b"shell" if job.interactive else b"command",
        "terminal": f"rows {rows} cols {columns}".encode(),
        "time_s": f"{time.time():.0f}".encode(),
        "random": os.urandom(RANDOM_BYTES),
    }
    if compiler:
        files["compiler"] = compiler.encode()
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def _jars(job: Job) -> tuple[qemu.Share, ...]:
    """The share of the jars, where there are any."""
    found = jars.folder(job.jars)
    return (qemu.Share(found, str(JARS), True),) if found else ()


def _sparse(folder: Path, name: str, size_bytes: int) -> Path:
    """A disk of that size: the one that is there, or a new one."""
    path = folder / name
    with path.open("ab") as handle:
        handle.truncate(size_bytes)
    return path


def _read_verdict(text: str) -> dict[str, float] | None:
    """The guest's verdict; None when it is missing or incomplete."""
    try:
        verdict = json.loads(text.removeprefix(BEGUN))
        return {"status": verdict["status"], "boot_s": verdict["boot_s"]}
    except (ValueError, KeyError, TypeError):
        return None


def _judge(
    result: Result, verdict: str, console: str, found: list[watch.Record], job: Job
) -> None:
    """Fill in the outcome; a kernel complaint overrides the command's status."""
    of_job = watch.of_job(found)
    result.complaints = watch.complaints(of_job, job.excused_frames, job.expected)
    said = _read_verdict(verdict)
    if said is None:
        result.complaints += watch.last_words(console, found)
        return
    if not watch.is_whole(of_job):
        result.complaints.append("the kernel log was not read to its end")
    result.status, result.boot_s = int(said["status"]), said["boot_s"]
    if result.outcome != "timeout":
        result.outcome = "splat" if result.complaints else "ended"


def _limits_boot(job: Job) -> bool:
    """Whether the command must have begun before BOOT_S."""
    return not job.interactive and (job.timeout_s is None or job.timeout_s > BOOT_S)


def _limits_s(job: Job, channels: Channels) -> Iterator[float | None]:
    """How long to wait for the start of the command, and then for its end."""
    spent_s = 0.0
    if _limits_boot(job):
        yield BOOT_S
        spent_s = BOOT_S
        if not channels.heard["verdict"].startswith(BEGUN.encode()):
            return
    yield job.timeout_s and job.timeout_s - spent_s


def _wait(command: list[str], job: Job, channels: Channels) -> int | None:
    """Run QEMU until it exits; its status, None when the time limit passed, or when the
    command has not begun after BOOT_S: a CPU may have lost its timer."""
    stdin = None if job.interactive else subprocess.DEVNULL
    fds = list(channels.fds.values())
    with subprocess.Popen(command, stdin=stdin, pass_fds=fds) as process:
        channels.when_heard(qemu.CUT, lambda: cut_power(process))
        channels.close_ours()
        try:
            for limit_s in _limits_s(job, channels):
                if wakes.ended(process, limit_s):
                    return process.returncode
            return None
        finally:
            process.kill()


def cut_power(process: subprocess.Popen[bytes]) -> None:
    """End QEMU as a power cut ends a machine: it flushes no disk any more.

    Before it has stopped, each of its threads ends the system call that it is in.
    SIGKILL alone ends a write(2) between two pages (Linux, mm/filemap.c,
    generic_perform_write()), so that a log of writes would have half an entry.
    """
    with suppress(ChildProcessError):
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    process.kill()


def run(job: Job) -> Result:
    """Boot, run the job's command, and return the result."""
    known = recipe.load(job.kernel, full=job.full_image)
    kernel = image.kernel(known)
    choice = accel.choose(known, kernel, job.accel)
    result = Result(
        accel=choice.name,
        accel_reason=choice.reason,
        qemu=qemu.version(known),
        kernel=kernel.release,
    )
    broke = True
    while broke and result.starts < MOST_STARTS:
        result.starts += 1
        broke = _start(known, kernel, job, result)
    return result


def _start(
    known: recipe.Recipe, kernel: image.Kernel, job: Job, result: Result
) -> bool:
    """One machine from power-on to its end; fills in the result.

    True when the machine failed before the guest began the command: nothing of the
    job has run, so it may be started again.
    """
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="writestall-"))
        )
        console = job.console or folder / "console.log"
        kmsg = job.log or folder / "kmsg"
        console.write_text("")
        stack.callback(_keep, result, console, kmsg)
        kmsg_fd = stack.enter_context(kmsg.open("wb", buffering=0)).fileno()
        forward = {"stdout": 1, "stderr": 2, "log": kmsg_fd}
        channels = Channels(qemu.PORTS, forward=forward)
        project = qemu.Share(recipe.PROJECT, GUEST_PROJECT, True)
        of_kernel = (qemu.Share(*share, True) for share in kernel.shares)
        shares = (project, *of_kernel, *job.shares, *_jars(job))
        of_job = qemu.Share(folder / "job", "/run/job", True, tag="job")
        disks = job.disks or folder
        machine = qemu.Machine(
            vmlinux.build(kernel),
            initramfs.build(kernel),
            result.accel,
            cpus=job.cpus,
            memory_bytes=job.memory_bytes,
            root=image.disk(known),
            layer=layer.disk(known, job.packages),
            console=console,
            virtio_disks=(_sparse(disks, "blk0", job.disk_bytes),),
            scsi_disks=(_sparse(disks, "scsi0", job.disk_bytes),),
            log_writes=job.log_writes,
            shares=(of_job, *shares),
            ports=dict(channels.fds),
            interactive=job.interactive,
            kernel_options=tsc.kernel_option(known, result.accel),
        )
        if job.log_writes:
            for path in (*machine.virtio_disks, *machine.scsi_disks):
                qemu.write_log(path).write_bytes(b"")
        # A machine that failed is started again by a boot of its own.
        if result.starts == 1:
            machine = snapshot.started(known, machine, folder)
        result.resumed = machine.saved is not None
        # Behind what may take as long as a boot: the guest takes its time from it.
        _write_job(of_job.source, job, shares, kernel.compiler)
        before = Reading.now()
        with channels:
            status = _wait(qemu.command(known, machine), job, channels)
        result.host = host_load.between(before, Reading.now())
        ended = "cut" if channels.heard[qemu.CUT] else "lost"
        result.outcome = "timeout" if status is None else ended
        verdict = channels.heard["verdict"].decode(errors="replace")
        said = console.read_text(errors="replace")
        found = watch.records(kmsg.read_text(errors="replace"))
        _judge(result, verdict, said, found, job)
        lost = result.outcome == "lost"
        result.emulator = _emulators_fault(result.accel, status, said) if lost else ""
    if result.outcome != "ended":
        report(result, Path(result.console))
    may_start = status is not None or _limits_boot(job)
    return may_start and not verdict.startswith(BEGUN)


def _emulators_fault(accelerator: str, status: int | None, console: str) -> str:
    """What QEMU did wrong, so that the machine was lost; empty if nothing is known."""
    if status is not None and -status in BROKEN:
        return f"it ended with {signal.Signals(-status).name}"
    if accelerator != "kvm" and watch.stale_int3(console):
        return "a CPU executed an int3 that memory does not hold any more"
    return ""


def _keep(result: Result, *files: Path) -> None:
    """Copy a machine's console and kernel log to the cache; the newest stay."""
    kind = "ended" if result.outcome == "ended" else "failed"
    folder = cache.root() / "consoles" / kind
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{result.kernel}"
    for file in files:
        if file.exists():
            end = file.read_bytes()[-MOST_KEPT_BYTES:]
            (folder / f"{name}.{file.name}").write_bytes(end)
    result.console = str(folder / f"{name}.{files[0].name}")
    for old in sorted(folder.iterdir())[: -len(files) * CONSOLES_KEPT]:
        old.unlink(missing_ok=True)


def report(result: Result, console: Path) -> None:
    """Print on stderr why the run is a failure, the most telling lines last."""
    words = {
        "splat": "the command ended, but the kernel complained",
        "lost": "the machine was lost before its verdict",
        "cut": "the machine's power was cut, as the command asked",
        "timeout": "the time limit passed",
    }
    said = console.read_text(errors="replace")
    for line in watch.excerpt(said, result.complaints):
        print(f"vm:   {line}", file=sys.stderr)
    print(f"vm: {words[result.outcome]} (kernel {result.kernel})", file=sys.stderr)
    for line in result.complaints[:MOST_COMPLAINTS]:
        print(f"vm:   {line}", file=sys.stderr)
    if result.emulator:
        print(f"vm: a fault of QEMU: {result.emulator}; run it again", file=sys.stderr)
    print(f"vm: its whole console: {console}", file=sys.stderr)


def save(result: Result, path: Path) -> None:
    """Write the result as JSON, in one rename."""
    files.save(path, f"{json.dumps(vars(result), indent=2)}\n".encode())
