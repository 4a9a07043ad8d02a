# SPDX-License-Identifier: GPL-2.0-only
"""file_systems: find which file systems the functions of a stack belong to.

A stack may show two: overlayfs, ecryptfs and loop devices lie on another file system.
A journal's functions leave the file systems that have such a journal: fs/jbd2 serves
ext4 and ocfs2, fs/jbd (until 4.2) served ext3 and ocfs2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from writestall.classify.frames import Frame

# Prefixes of functions, by file system. fs/ocfs2/dlm and fs/dlm serve ocfs2 and gfs2.
_PREFIXES = {
    "ext2": "ext2",
    "ext3": "ext3",
    "ext4": "ext4 mpage_map_and mpage_prepare_extent mpage_submit_folio "
    "mpage_submit_page",
    "ldiskfs": "ldiskfs",
    "xfs": "xfs xlog xfsaild xfssyncd xfsbufd",
    "btrfs": "btrfs transaction_kthread cleaner_kthread start_transaction"
    " join_transaction wait_current_trans wait_for_commit wait_log_commit flush_space"
    " wait_reserve_ticket handle_reserve_ticket lock_extent wait_extent_bit"
    " extent_fiemap extent_writepages extent_write_cache_pages extent_readahead"
    " finish_ordered submit_compressed_extents async_cow run_delalloc cow_file_range"
    " read_extent_buffer",
    "f2fs": "f2fs issue_checkpoint_thread issue_flush_thread block_operations"
    " write_checkpoint do_checkpoint",
    "nfs": "nfs nfs3 nfs4 nfs41 nfs42 rpc xprt xs_tcp",
    "ceph": "ceph",
    "cifs": "cifs smb2 SMB2 smb3 compound_send",
    "fuse": "fuse virtio_fs",
    "9p": "v9fs p9",
    "afs": "afs",
    "overlay": "ovl",
    "ecryptfs": "ecryptfs",
    "ocfs2": "ocfs2 dlmlock",
    "gfs2": "gfs2",
    "nilfs2": "nilfs",
    "reiserfs": "reiserfs",
    "jfs": "jfs txBegin txCommit lmGroupCommit",
    "ubifs": "ubifs",
    "jffs2": "jffs2",
    "fat": "fat msdos vfat",
    "exfat": "exfat",
    "ntfs": "ntfs ntfs3 ni attr_data",
    "udf": "udf",
    "hfs": "hfs hfsplus",
    "bcachefs": "bch2",
    "zfs": "zfs zpl zil zio txg dmu dsl spa arc dbuf dnode zap zvol vdev",
}
_MODULES = {
    "lustre": "ldiskfs",
    "nfsv2": "nfs",
    "nfsv3": "nfs",
    "nfsv4": "nfs",
    "libceph": "ceph",
    "smb3": "cifs",
    "virtiofs": "fuse",
    "9pnet": "9p",
    "kafs": "afs",
    "vfat": "fat",
    "msdos": "fat",
    "ntfs3": "ntfs",
    "hfsplus": "hfs",
}
_SAME_NAME = frozenset(_PREFIXES)
_NAMES = {prefix: name for name, text in _PREFIXES.items() for prefix in text.split()}
_FUNCTION = re.compile(
    r"_*(?P<prefix>"
    + "|".join(sorted(map(re.escape, _NAMES), key=len, reverse=True))
    + r")(?:_\w+)?"
)
_JBD2 = (
    re.compile(r"_*jbd2_\w+|kjournald2|add_transaction_credits|wait_transaction_\w+"),
    frozenset({"ext4", "ldiskfs", "ocfs2"}),
)
_JBD = (
    re.compile(
        r"journal_(commit_transaction|get_\w+_access|start|stop|flush|force_commit\w*)"
        r"|kjournald|_*log_wait_\w+|log_do_checkpoint"
    ),
    frozenset({"ext3", "ocfs2"}),
)
# In both, under one name.
_EITHER = (
    re.compile(r"do_get_write_access|start_this_handle"),
    _JBD2[1] | _JBD[1],
)


@lru_cache(maxsize=65536)
def _own(frame: Frame) -> str | None:
    """The file system whose own function or module this is."""
    module = frame.module or ""
    if module in _SAME_NAME or module in _MODULES:
        return _MODULES.get(module, module)
    match = _FUNCTION.fullmatch(frame.symbol)
    return _NAMES[match["prefix"]] if match else None


@lru_cache(maxsize=65536)
def _journalled(symbol: str) -> frozenset[str] | None:
    """The file systems that have the journal whose function this is."""
    for pattern, names in (_JBD2, _JBD, _EITHER):
        if pattern.fullmatch(symbol):
            return names
    return None


def file_systems_of(frames: Iterable[Frame]) -> frozenset[str]:
    """The file systems a stack may belong to; none where no function shows it."""
    frames = tuple(frames)
    own = frozenset(name for frame in frames if (name := _own(frame)))
    for frame in frames:
        users = _journalled(frame.symbol)
        if users is not None and not own & users:
            # The journal alone decides, beside whatever lies above it.
            common = frozenset.intersection(
                *(names for f in frames if (names := _journalled(f.symbol)))
            )
            return own | (common or users)
    return own
