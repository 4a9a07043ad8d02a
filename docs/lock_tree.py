# SPDX-License-Identifier: GPL-2.0-only
"""lock_tree: read a kernel tree as functions with what they lock, wake and call.

Locks have names: that of the field, with the folder it is known in. What the compiler
has inside its caller is read there.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import c_layout
from c_layout import Function
from lock_walk import Event, Section, sections

_FILE_SYSTEMS = (
    "ext4 jbd2 btrfs f2fs fuse overlayfs nfs xfs xfs/libxfs quota iomap gfs2 kernfs "
    "sysfs ceph cifs smb/client nfsd ntfs3 netfs fscache cachefiles crypto lockd ocfs2 "
    "ocfs2/cluster ocfs2/dlm dlm 9p afs nilfs2 jfs reiserfs ubifs udf exfat fat "
    "ecryptfs bcachefs proc configfs notify autofs hfs hfsplus squashfs erofs jffs2 "
    "ext2 isofs orangefs smb/server zonefs debugfs tracefs"
)
_DRIVERS = (
    "base base/power block block/drbd block/rnbd md md/bcache md/persistent-data "
    "nvdimm nvme/host nvme/target usb/core usb/storage target target/iscsi "
    "scsi/libsas scsi/ufs ufs/core mmc/core scsi/libfc scsi/lpfc scsi/qla2xxx "
    "scsi/megaraid scsi/mpt3sas s390/block base/firmware_loader infiniband/core "
    "infiniband/ulp/iser infiniband/ulp/isert infiniband/ulp/srp infiniband/ulp/srpt "
    "infiniband/ulp/rtrs pci pci/hotplug acpi iommu virtio vhost cdrom dax mtd mtd/ubi "
    "message/fusion usb/host scsi/device_handler scsi/aacraid scsi/smartpqi "
    "scsi/mpi3mr scsi/hisi_sas thunderbolt xen usb/typec usb/typec/ucsi "
    "usb/typec/altmodes usb/typec/tcpm usb/gadget net/usb hid hid/usbhid input i2c tty"
)
PLACES = (
    *(f"fs/{name}/*.[ch]" for name in _FILE_SYSTEMS.split()),
    *(f"drivers/{name}/*.[ch]" for name in _DRIVERS.split()),
    *("fs/*.[ch]", "block/*.[ch]", "mm/*.[ch]", "kernel/cgroup/*.[ch]"),
    *("kernel/*.[ch]", "kernel/power/*.c", "kernel/rcu/*.[ch]"),
    *("kernel/module/*.[ch]", "io_uring/*.[ch]", "net/sunrpc/*.c"),
    *("kernel/irq/*.[ch]", "kernel/events/*.[ch]", "kernel/bpf/*.[ch]"),
    *("net/core/*.[ch]", "net/9p/*.[ch]", "net/ceph/*.[ch]", "security/keys/*.[ch]"),
    *("drivers/scsi/scsi_*.c", "drivers/scsi/hosts.c", "drivers/scsi/s[dgr].c"),
    *("drivers/ata/libata-*.c", "include/linux/*.h"),
)
_TOKEN = re.compile(
    r"(?P<before>->|\.)?\b(?:"
    r"(?P<lock>(?:f2fs_|percpu_)?(?:mutex|down_read|down_write|down)"
    r"(?:(?<=mutex)_(?:lock|trylock)|_trylock)?"
    r"(?:_nested|_io|_interruptible|_killable|_nest_lock)*)"
    r"|(?P<unlock>(?:f2fs_|percpu_)?(?:mutex_unlock|up_read|up_write|up)"
    r"(?:_non_owner)?)"
    r"|(?P<wait>(?:io_)?wait_event(?!_interruptible)\w*|wait_for_completion\w*"
    r"|prepare_to_wait\w*|xlog_wait)"
    r"|(?P<wake>wake_up(?!_process|_state|_q)\w*|complete(?:_all)?)"
    r"|(?P<flush>(?:flush|cancel)_(?:delayed_)?work(?:_sync)?)"
    r"|(?P<drain>(?:flush|drain|destroy)_workqueue)"
    r"|(?P<call>[a-zA-Z_]\w+))\s*\(\s*"
    r"|(?P<open>\{)|(?P<close>\})|\b(?P<leave>return|goto|break|continue)\b"
    r"|\b(?P<case>case|default)\b|^(?P<label>\w+):(?!:)",
    re.M,
)
_DEFINED = re.compile(r"\bDE(?:FINE|CLARE)_(?:MUTEX|RWSEM|\w*SEMAPHORE|WAIT\w*)\((\w+)")
_TEST = re.compile(r"[-_]test\.c$")
_FIELD = re.compile(
    r"struct (?:mutex|rw_semaphore|percpu_rw_semaphore|semaphore|completion"
    r"|work_struct|delayed_work)\s+(\w+)|wait_queue_head_t\s+(\w+)"
)
# Names that say nothing without the structure they are in.
_PLAIN = frozenset(
    "lock mutex sem rwsem mtx wait waitq waitqueue wq wqh done completion comp work "
    "mux io_lock lock_mutex ws_wait io_wait wait_queue event workq".split()
)
_BASE = re.compile(
    r"mutex_lock\w*|down(?:_read|_write)?(?:_nested|_killable|_interruptible)?"
    r"|percpu_down_\w+|(?:io_)?schedule\w*|(?:io_)?wait_event\w*|wait_on_\w+"
    r"|wait_var_event\w*|wait_for_completion\w*|msleep\w*|closure_sync\w*|flush_work\w*"
    r"|flush_delayed_work|flush_workqueue|drain_workqueue|cancel_\w*work_sync"
    r"|synchronize_\w+|lock_page|folio_lock|folio_wait_\w+|lock_buffer|submit_bio\w*"
)
# Sleepers by name only, or for memory: no sign of who holds what.
_NOISE = re.compile(
    r"\w*free|\w*(?:alloc|put|get|lock|unlock|init|print\w*|release|err|warn|debug)"
    r"|(?:io_)?schedule\w*|closure_sync|msleep\w*|\*?\w*wait_event_\w+|\*_fn\d"
    r"|[A-Z_\d]+|cond_resched\w*|\w*memdup\w*|\w*strdup\w*|copy_\w+_user|put_\w+"
)
# Fields of several meanings.
_SHORT = 400


def _argument(text: str, at: int) -> str:
    depth = 0
    for end in range(at, len(text)):
        depth += (text[end] == "(") - (text[end] == ")")
        if depth < 0 or (text[end] == "," and not depth):
            return text[at:end]
    return text[at:]


def _folder(file: str) -> str:
    """The folder in which a lock of a file is known."""
    names = file.split("/")[:-1]
    return "/".join(names[: 2 if names[0] == "fs" else 4])


class Tree:
    """The functions of a tree, and who calls, locks and wakes what."""

    def __init__(self, tree: Path) -> None:
        every = list(c_layout.functions(tree, PLACES))
        self._declared = Counter[tuple[str, str]]()
        self._defined: set[tuple[str, str]] = set()
        for place in PLACES:
            for path in sorted(tree.glob(place)):
                file = str(path.relative_to(tree))
                text = path.read_text("utf-8", "replace")
                for one, two in _FIELD.findall(text):
                    self._declared[_folder(file), one or two] += 1
                self._defined.update((file, name) for name in _DEFINED.findall(text))
        self._by_name: dict[str, list[Function]] = defaultdict(list)
        for function in every:
            self._by_name[function.name].append(function)
        self._read: dict[tuple[str, str, int], list[Event]] = {}
        self._uses = self._used(tree)
        self.functions = [
            one
            for one in every
            if one.file.endswith(".c") and not _TEST.search(one.file)
        ]
        self._sleepers = self._all_sleepers(every)
        self.wrappers: dict[str, tuple[Section, ...]] = {}
        self.releasers: dict[str, set[str]] = {}
        self.users: dict[str, set[str]] = {}
        self._find_wrappers()

    def _used(self, tree: Path) -> Counter[tuple[str, str]]:
        """How often each file names each word."""
        count: Counter[tuple[str, str]] = Counter()
        for file in {one.file for found in self._by_name.values() for one in found}:
            if file.endswith(".c"):
                words = re.findall(r"\w+", (tree / file).read_text(errors="replace"))
                count.update((file, word) for word in words)
        return count

    def _all_sleepers(self, every: list[Function]) -> set[str]:
        """The functions that may sleep, by whom they call."""
        callers: dict[str, set[str]] = defaultdict(set)
        for function in every:
            for name in re.findall(r"\b(\w+)\s*\(", function.body):
                callers[name].add(function.name)
        found = {name for name in callers if _BASE.fullmatch(name)}
        new = list(found)
        while new:
            for name in callers[new.pop()] - found:
                found.add(name)
                new.append(name)
        # Who calls a method may sleep; who calls that, nobody knows.
        found |= {one.name for one in every if re.search(r"->\w+\s*\(", one.body)}
        return {name for name in found if not _NOISE.fullmatch(name)}

    def may_sleep(self, name: str) -> bool:
        """True for a function that may sleep, and for a method."""
        return name in self._sleepers or name.startswith("*")

    def _inlined(self, name: str, file: str) -> Function | None:
        """The function of that name where the compiler has it inside its caller."""
        for one in self._by_name.get(name, ()):
            header = one.file.endswith(".h")
            if one.is_static and (header or one.file == file):
                # Its definition and one call, or hardly longer than a call.
                once = self._uses[file, name] == 2 or len(one.body) < _SHORT
                return one if header or once else None
        return None

    def lock(self, text: str, file: str) -> str:
        """The name of a lock: that of its field, with the folder it is known in."""
        text = re.sub(r"\s+|^[&*(]+", "", text.strip()).lstrip("&*(")
        text = re.sub(r"\([^()]*\)|\[[^\]]*\]|[+-]\d+$", "", text).rstrip(")")
        parts = [part for part in re.split(r"->|\.", text) if part]
        if not parts or not re.fullmatch(r"\w+", parts[-1]):
            return ""
        if parts[-1] in _PLAIN:
            known = len(parts) > 1 or (file, parts[0]) in self._defined
            return f"{file}:{'->'.join(parts[-2:])}" if known else ""
        of = next(
            (
                folder
                for folder in (_folder(file), "include/linux")
                if self._declared[folder, parts[-1]]
            ),
            _folder(file),
        )
        # Of several structures: what holds the field decides which.
        one = self._declared[of, parts[-1]] <= 1
        name = parts[-1] if one else "->".join(parts[-2:])
        return name if of == "include/linux" else f"{of}:{name}"

    def events(self, function: Function, depth: int = 0) -> Iterator[Event]:
        """The tokens of a function, those of what is inlined into it among them."""
        for event in self._tokens(function):
            yield event
            inner = event.kind == "call" and depth < 4
            if inner and (inside := self._inlined(event.name, function.file)):
                yield Event("open", "{")
                yield from self.events(inside, depth + 1)
                yield Event("close", "}")

    def _tokens(self, function: Function) -> list[Event]:
        """Those of the function alone."""
        key = function.file, function.name, len(function.body)
        if key not in self._read:
            self._read[key] = list(self._scanned(function))
        return self._read[key]

    def _scanned(self, function: Function) -> Iterator[Event]:
        body = function.body
        for match in _TOKEN.finditer(body):
            kind = match.lastgroup or ""
            if kind == "before":
                continue
            name, at = match[kind], match.start()
            if kind not in ("call", "open", "close", "leave", "label", "case"):
                yield Event(
                    kind, name, self.lock(_argument(body, match.end()), function.file)
                )
            elif kind == "call" and match["before"]:
                yield Event(kind, f"*_{name}")
            else:
                before = body[max(0, at - 80) : at].rstrip()
                may = kind == "leave" and before.endswith((")", "else"))
                yield Event("may-leave" if may else kind, name)

    def _find_wrappers(self) -> None:
        """Functions that return with a lock held, and those that release one."""
        for function in self.functions:
            events = list(self.events(function))
            taken = {event.of for event in events if event.kind == "lock"}
            let_go = {event.of for event in events if event.kind == "unlock"}
            held = [
                part
                for part in sections(self, events)
                if part.is_open and part.lock not in let_go
            ]
            # One that takes several takes those that its arguments name.
            if len(held) == 1 and len(events) < 60:
                self.wrappers[function.name] = tuple(held)
            self.users[function.name] = taken | let_go
            if let_go - taken:
                self.releasers[function.name] = let_go - taken
