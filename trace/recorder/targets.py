# SPDX-License-Identifier: GPL-2.0-only
"""targets: check what is to be recorded, and refuse it in one line with the remedy."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
from pathlib import Path

from foreign import files
from labrun.run.tracer import LAUNCHER, SCRIPT
from launcher import systemtap
from launcher.core import PASSED
from launcher.errors import TraceError
from launcher.options import variables
from recorder import tasks
from recorder.filesystems import ON_NO_DISK, mount_of, mounts
from writestall_base import command_line
from writestall_base.errors import UserError
from writestall_base.releases import version
from writestall_base.units import ms

# include/uapi/linux/nsfs.h, PID_NS_INIT_INO
HOST_PIDS = "pid:[4026531836]"
# Of --profile: windows of bios, and room for calls as they are compressed.
SERIES_MS, CALLS_MIB = 100, 128
DISKS = Path("/sys/dev/block")


def check(options: argparse.Namespace) -> None:
    """Refuse a process, path, device or command that cannot be recorded."""
    if options.tail and (options.pid is not None or options.comm is not None):
        raise UserError("a COMMAND is what is recorded: leave out --pid and --comm")
    if options.module and not options.module.is_file():
        raise UserError(
            f"--module {options.module}: no such file; trace/build makes it"
        )
    if options.tail and not shutil.which(options.tail[0]):
        word = shlex.quote(options.tail[0])
        raise UserError(f"{word}: no such command; is it on root's PATH?")
    if options.floor_ns > options.stall_ns:
        floor, stall = ms(options.floor_ns), ms(options.stall_ns)
        raise UserError(
            f"--floor must not be above --stall, and {floor} is above {stall}: give"
            " both"
        )
    if options.pid is not None or options.tail:
        _pid_namespace()
    if options.pid is not None:
        _process(options.pid)
    try:
        variables(filters(options), systemtap.FOLDER / f"{SCRIPT}.stp")
    except TraceError as error:
        raise UserError(str(error)) from None
    if options.device is not None:
        _known(options.device)
    if options.path is not None:
        _on_a_disk(options.path)


def filters(options: argparse.Namespace) -> argparse.Namespace:
    """The launcher's options of these: times are in us there."""
    return argparse.Namespace(
        floor_us=options.floor_ns // 1000,
        stall_us=options.stall_ns // 1000,
        series_ms=SERIES_MS if options.profile else None,
        calls_mib=CALLS_MIB if options.profile and _keeps_calls() else None,
        pid=options.pid,
        comm=options.comm,
        waits=options.pid,
        waits_comm=options.comm,
        device=options.device,
        path=options.path,
        call=None,
        text=False,
    )


def _keeps_calls() -> bool:
    """Whether BPF programs of this kernel can number files and have a task's storage:
    5ca419f2864a ("bpf: Add BPF_FETCH field / create atomic_fetch_add instruction"),
    Linux 5.12; a10787e6d58c ("bpf: Enable task local storage for tracing programs"),
    5.13."""
    return version(os.uname().release) >= (5, 13)


def command(options: argparse.Namespace, engine: str, pid: int | None) -> list[str]:
    """The launcher's command line that traces the same; `pid` is the COMMAND's."""
    of_command = {} if pid is None else {"pid": pid, "waits": pid}
    given = vars(filters(options)) | of_command
    passed = {name: given[name] for name in PASSED} | {"module": options.module}
    return [str(LAUNCHER), "--engine", engine, SCRIPT, *command_line.words(passed)]


def chosen(options: argparse.Namespace, pid: int | None) -> list[int]:
    """The processes that are known before the first event."""
    if options.comm is not None:
        return tasks.of_name(options.comm)
    found = options.pid if pid is None else pid
    return [] if found is None else tasks.family(found)


def _pid_namespace() -> None:
    """Tracers know processes by the host's numbers (pid_namespaces(7)). Without
    CONFIG_PID_NS there are no others, and no such file (fs/proc/namespaces.c)."""
    own = Path("/proc/self/ns/pid")
    if own.is_symlink() and str(own.readlink()) != HOST_PIDS:
        raise UserError(
            "this container counts its own processes: choose by --path or --device, or"
            " start it with the host's (docker run --pid=host)"
        )


def _process(pid: int) -> None:
    found = re.search(r"^Tgid:\s*(\d+)$", files.text(pid, "status") or "", re.M)
    if not found:
        raise UserError(f"--pid {pid}: no such process; ps -e lists them")
    if int(found[1]) != pid:
        raise UserError(f"--pid {pid}: a thread of process {found[1]}; give that")
    _, fields = files.stat(pid)
    if fields and int(fields[files.FLAGS]) & files.PF_KTHREAD:
        raise UserError(
            f"--pid {pid}: a kernel thread, which makes no calls; ps -e lists processes"
        )


def _known(device: str) -> None:
    """Refuse a number that is no disk's; some file systems have one of their own."""
    if not re.fullmatch(r"\d+:\d+", device):
        return
    number = ":".join(str(int(part)) for part in device.split(":"))
    if not (DISKS / number).exists() and number not in {one.dev for one in mounts()}:
        raise UserError(f"--device {device}: no such device; lsblk lists them")


def _on_a_disk(path: Path) -> None:
    mount = mount_of(path.resolve())
    if mount and mount.type in ON_NO_DISK:
        raise UserError(
            f"--path {path}: it is on a {mount.type}, which is on no disk; name a path"
            " that findmnt shows on one"
        )


def unfit(option: str, folder: Path, error: OSError) -> UserError:
    """What is said of a folder that an option names, and that cannot be made."""
    why = "it is no folder" if isinstance(error, FileExistsError) else error.strerror
    return UserError(
        f"{option} {folder}: {why}; name a folder that is there or can be made"
    )
