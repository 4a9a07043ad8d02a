# SPDX-License-Identifier: GPL-2.0-only
"""names: replace each name by a token, the same one wherever it stands.

What is kept is public: it is listed here, and every other name is replaced.
"""

from __future__ import annotations

import re

# Names of disks that drivers give, and partitions (Documentation/admin-guide/devices).
DEVICE = (
    r"(?:(?:s|v|xv|h)d[a-z]{1,3}\d*|nvme\d+n\d+(?:p\d+)?|mmcblk\d+(?:p\d+)?"
    r"|dm-\d+|md\d+(?:p\d+)?|loop\d+|zram\d+|nbd\d+|sr\d+|pmem\d+)"
)
_DEVICE_PATH = re.compile(rf"(?:/dev/)?{DEVICE}|\d+:\d+")
# Threads of the kernel by the names it gives them (kernel/kthread.c,
# kthread_create_on_node()): what classify/ knows tasks by, and the usual others.
_THREAD = re.compile(
    rf"kworker/u?\d+:\d+H?|jbd2/{DEVICE}(?:-\d*)?|xfsaild/{DEVICE}"
    rf"|xfs-(?:log|cil|sync)/{DEVICE}|btrfs-(?:transacti(?:on)?|cleaner)"
    r"|f2fs_(?:ckpt|gc|discard|flush)-\d+:\d*|dmcrypt_write/[\d:]*|loop\d+"
    r"|md\d+_(?:raid\d+|resync|reclaim)|iou-(?:wrk|sqp)-\d+|kswapd\d+|kcompactd\d+"
    r"|ksoftirqd/\d+|migration/\d+|swapper/\d+|rcu_(?:preempt|sched|gp)|khugepaged"
    r"|kthreadd|khungtaskd|oom_reaper"
)
# Libraries that every program has, and the kernel's own.
_LIBRARY = re.compile(
    r"(?:libc|libm|libpthread|ld-linux-x86-64|libstdc\+\+|libgcc_s)[-.\d]*\.so[.\d]*"
    r"|vdso|\[vdso\]"
)
# A cgroup's component that names the runtime but not its user: common/
# containers.py. Ids are replaced before.
_HEX_ID = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")
_UID = re.compile(
    r"(?:(?<=pod)|(?<![0-9a-f]))[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}"
)
_SHELL = re.compile(
    r"(?:docker|cri-containerd|nerdctl|crio|libpod)-<id>\.scope|crio-<id>|<id>"
    r"|(?:kubepods(?:-\w+)?-)?pod<uid>(?:\.slice)?"
    r"|kubepods(?:-(?:burstable|besteffort))?(?:\.slice)?|burstable|besteffort"
    r"|(?:system|user|machine|init)\.(?:slice|scope)|docker"
)
_UNIT = re.compile(r".*(\.(?:service|scope|slice|socket|mount|swap))")


class Names:
    """The tokens of one run."""

    def __init__(self) -> None:
        self._numbers: dict[str, dict[str, int]] = {}

    def _number(self, kind: str, name: str) -> int:
        known = self._numbers.setdefault(kind, {})
        return known.setdefault(name, len(known) + 1)

    def _token(self, kind: str, name: str) -> str:
        return f"{kind}{self._number(kind, name)}"

    def word(self, name: str) -> str:
        """A token for a name of any kind; the same for a part of a path."""
        return self._token("name", name) if name else name

    def path(self, path: str) -> str:
        """The path with a token for each part; a disk's stays."""
        if _DEVICE_PATH.fullmatch(path) or _LIBRARY.fullmatch(path):
            return path
        kept = ("", ".", "..")
        parts = path.split("/")
        return "/".join(part if part in kept else self.word(part) for part in parts)

    def file(self, path: str) -> str:
        """The path of a file that is executed; a library's own name stays."""
        folder, slash, name = path.rpartition("/")
        if not _LIBRARY.fullmatch(name):
            return self.path(path)
        return f"{self.path(folder)}{slash}{name}"

    def comm(self, comm: str) -> str:
        """A token for a task's name; a thread of the kernel's stays."""
        return comm if _THREAD.fullmatch(comm) else self._token("task", comm)

    def symbol(self, symbol: str) -> str:
        """A token for a function of a program."""
        return self._token("function", symbol)

    def cgroup(self, path: str) -> str:
        """The path of a cgroup: what runs it stays, whose it is does not."""
        return "/".join(map(self._level, path.split("/")))

    def _level(self, part: str) -> str:
        ids = [*_HEX_ID.findall(part), *_UID.findall(part)]
        form = _UID.sub("<uid>", _HEX_ID.sub("<id>", part))
        if not part or _SHELL.fullmatch(form):
            for one in ids:
                part = part.replace(one, self.id(one))
            return part
        unit = _UNIT.fullmatch(part)
        return self.word(part) + (unit[1] if unit else "")

    def id(self, id: str) -> str:
        """Another id of the same form, in which a number counts up."""
        plain = re.sub("[-_]", "", id)
        digits = iter(f"{self._number('id', plain):0{len(plain)}x}")
        return "".join(one if one in "-_" else next(digits) for one in id)


def library(name: str) -> bool:
    """Whether a file is a library that every program has."""
    return _LIBRARY.fullmatch(name) is not None


def device(name: str) -> bool:
    """Whether that is a disk's name, path or number."""
    return _DEVICE_PATH.fullmatch(name) is not None
