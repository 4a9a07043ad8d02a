# SPDX-License-Identifier: GPL-2.0-only
"""disks: find which disk a kernel thread or a work belongs to, by its name.

fs/jbd2/journal.c names its thread after the journal's device, fs/xfs/ its threads and
work queues after the file system's, fs/fs-writeback.c a flusher by the numbers of its
disk, drivers/md/md.c a thread after its array, drivers/md/dm-crypt.c by numbers.
"""

from __future__ import annotations

import re

# A kind of disk, and which one it is.
Disk = tuple[str, int | str]

_NAMED = re.compile(
    r"\b(?:jbd2|xfsaild|xfs[-_][a-z]+|dio)/(?P<name>dm-\d+|[a-z]+\d*(?:n\d+)?)"
    r"|^(?P<array>md\d+)_(?:raid\d+|resync|reshape|recovery)"
    r"|^(?P<loop>loop\d+)\b"
)
_NUMBERED = re.compile(
    r"\b(?:flush|f2fs_[a-z]+|dmcrypt_write|kcryptd\w*|kdmflush)[-/]"
    r"(?P<major>\d{1,4}):(?P<minor>\d{1,7})"
)
# include/linux/sched.h TASK_COMM_LEN: a longer name of a task is cut off there.
_CUT = 15
_ANY_MINOR = "?"
# Kinds that lie on no other disk.
PLAIN = frozenset(("sd", "vd", "xvd", "hd", "nvme"))
# Documentation/admin-guide/devices.txt.
_SD_MAJORS = (8, *range(65, 72), *range(128, 136))
_MD_MAJOR, _LOOP_MAJOR = 9, 7
_SD_MINORS = 16
# Majors that drivers get as they are loaded: device-mapper, virtio_blk, zram, ...
_DYNAMIC = range(240, 255)
_BLOCK_EXT = 259


def _named(name: str) -> Disk:
    """`sdb` as ("sd", 1), `dm-3` as ("dm", 3)."""
    if match := re.fullmatch(r"(dm|md|loop)-?(\d+)", name):
        return match[1], int(match[2])
    if match := re.fullmatch(r"(sd|vd|xvd|hd)([a-z]+)\d*", name):
        at = 0
        for letter in match[2]:
            at = at * 26 + ord(letter) - ord("a") + 1
        return match[1], at - 1
    if match := re.match(r"(nvme)(\d+n\d+)", name):
        return match[1], match[2]
    return "?", name


def _numbered(major: int, minor: int) -> Disk:
    """8:16 as ("sd", 1); numbers whose driver nobody knows as they are."""
    if major in _SD_MAJORS:
        bank = _SD_MAJORS.index(major)
        return "sd", bank * _SD_MINORS + minor // _SD_MINORS
    if major == _MD_MAJOR:
        return "md", minor
    if major == _LOOP_MAJOR:
        return "loop", minor
    kind = "number" if major in _DYNAMIC or major == _BLOCK_EXT else "?"
    return kind, f"{major}:{minor}"


def disks_of(*names: str | None) -> frozenset[Disk]:
    """The disks in a task's name and its work's name."""
    found: set[Disk] = set()
    for name in filter(None, names):
        for match in _NAMED.finditer(name):
            found.add(_named(match["name"] or match["array"] or match["loop"]))
        for match in _NUMBERED.finditer(name):
            kind, number = _numbered(int(match["major"]), int(match["minor"]))
            cut = kind == "number" and match.end() == _CUT == len(name)
            found.add((kind, f"{match['major']}:{_ANY_MINOR}" if cut else number))
    return frozenset(found)


def _may_be_one(one: str, other: str) -> bool:
    """True where two numbers may be of one disk, or of it and a partition."""
    majors = {number.partition(":")[0] for number in (one, other)}
    # Of a disk and a partition of it, numbers of the extended major share nothing.
    open_minor = majors == {str(_BLOCK_EXT)} or _ANY_MINOR in one + other
    return one == other or (len(majors) == 1 and open_minor)


def _differ(one: Disk, other: Disk) -> bool:
    """True when two names cannot be the same disk."""
    if "?" in (one[0], other[0]):
        return False
    if one[0] == other[0] == "number":
        return not _may_be_one(str(one[1]), str(other[1]))
    if one[0] == other[0]:
        return one[1] != other[1]
    if other[0] == "number":
        one, other = other, one
    if one[0] != "number":
        return True
    major, minor = str(one[1]).split(":")
    if other[0] == "nvme":
        return int(major) != _BLOCK_EXT
    if int(major) == _BLOCK_EXT or other[0] not in ("dm", "vd"):
        return True
    if minor == _ANY_MINOR:
        return False
    # drivers/block/virtio_blk.c: PART_BITS.
    return (int(minor) if other[0] == "dm" else int(minor) // 16) != other[1]


def differ(one: frozenset[Disk], other: frozenset[Disk]) -> bool:
    """True when both sides name a disk and no two are the same."""
    if not one or not other:
        return False
    return all(_differ(this, that) for this in one for that in other)
