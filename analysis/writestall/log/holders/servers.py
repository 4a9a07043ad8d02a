# SPDX-License-Identifier: GPL-2.0-only
"""servers: who ends waits for a server's answer, and for a copy in overlayfs."""

from __future__ import annotations

from writestall.log.holders.form import Holder, names, perhaps
from writestall_base import wait_classes as c

_COPY_WAITS = names(
    "ovl_inode_lock* ovl_copy_up_start ovl_nlink_start ovl_already_copied_up"
)
# request_wait_answer() is inlined in some builds.
_FUSE_WAITS = names("request_wait_answer __fuse_request_send fuse_request_send")

HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.DEVICE_IO: (
        Holder(
            "it recovers the state of the NFS client",
            "fs/nfs/nfs4state.c nfs4_wait_clnt_recover() waits for "
            "NFS4CLNT_MANAGER_RUNNING, under which nfs4_run_state_manager() runs",
            names("nfs4_state_manager nfs4_run_state_manager"),
            lock="the state manager of an NFS client",
            of=names("nfs4_wait_clnt_recover"),
            past=True,
        ),
        perhaps(
            "it is to recover the state of the NFS client, and idles",
            "fs/nfs/nfs4state.c nfs4_run_state_manager() waits to be called where swap "
            "is on NFS (NFS4CLNT_MANAGER_AVAILABLE, since 6.0)",
            names("nfs4_run_state_manager"),
            lock="the state manager of an NFS client",
            of=names("nfs4_wait_clnt_recover"),
        ),
        perhaps(
            "it reads a page of a directory from the server, holding the page's lock",
            "fs/nfs/dir.c nfs_readdir_filler() fills a page that read_cache_page() has "
            "locked",
            names("nfs_readdir_filler nfs_readdir_xdr_to_array"),
            lock="PG_locked of a page of an NFS directory",
            caller=names("do_read_cache_page read_cache_page"),
            of=names("nfs_readdir"),
        ),
        perhaps(
            "it is a FUSE server, and reads a request",
            "fs/fuse/dev.c fuse_dev_do_read(): the server's thread copies a request "
            "out, for which it may need memory",
            names("fuse_dev_do_read"),
            lock="the answer of a FUSE server",
            of=_FUSE_WAITS,
            past=True,
        ),
        perhaps(
            "it is a FUSE server, inside a request",
            "fs/fuse/dev.c request_wait_answer(): until the server has written the "
            "answer to /dev/fuse",
            names("fuse_dev_write fuse_dev_do_write fuse_dev_splice_write"),
            lock="the answer of a FUSE server",
            of=_FUSE_WAITS,
            not_shows=_FUSE_WAITS,
        ),
    ),
    c.OTHER: (
        perhaps(
            "it makes the client of the server, which other mounts compare with theirs",
            "fs/nfs/client.c nfs_match_client(), nfs_wait_client_init_complete(): "
            "until nfs_mark_client_ready() of the mount that made it",
            names("nfs_init_client nfs4_init_client nfs3_init_client"),
            lock="an NFS client that is set up (cl_cons_state)",
            caller=names("nfs_wait_client_init_complete"),
            any_right=True,
        ),
    ),
    c.FS_LOCK: (
        perhaps(
            "it asks the server with the inode locked",
            "fs/fuse/inode.c fuse_lock_inode() (since 4.7): unless the server allows "
            "parallel operations, fuse_lookup() and fuse_readdir() hold the inode's "
            "mutex until its answer",
            names("fuse_lookup fuse_readdir fuse_readdir_uncached"),
            lock="the mutex of a FUSE inode",
            also=_FUSE_WAITS,
            caller=names("fuse_lock_inode"),
        ),
        perhaps(
            "it copies the file up",
            "fs/overlayfs/util.c ovl_copy_up_start() takes the overlay inode's lock, "
            "which ovl_copy_up_one() holds to its end",
            names("ovl_do_copy_up ovl_copy_up_* ovl_link_up"),
            lock="the lock of an overlayfs inode",
            not_shows=_COPY_WAITS,
            of=_COPY_WAITS,
        ),
    ),
}
