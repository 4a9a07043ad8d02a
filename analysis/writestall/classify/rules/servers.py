# SPDX-License-Identifier: GPL-2.0-only
"""servers: rules for waits for the answer of a server, and for io_uring's requests.

The server does for these file systems what a disk does for others.
"""

from __future__ import annotations

from writestall.classify import named_waits as w
from writestall.classify.rules.form import IO, LOCK, PAGE, Rule, names
from writestall_base import wait_classes as c

RULES: tuple[Rule, ...] = (
    Rule(
        c.DEVICE_IO,
        names(
            "ptlrpc_set_wait ptlrpc_queue_wait ldlm_cli_enqueue* ldlm_completion_ast* "
            "cl_sync_io_wait osc_extent_wait osc_cache_wait*"
        ),
        "Lustre lustre/ptlrpc/client.c ptlrpc_set_wait(), lustre/ldlm/ldlm_request.c "
        "ldlm_completion_ast(), lustre/osc/: until a server has answered",
        not_wait=(LOCK,),
        first=True,
        named=w.LUSTRE_ANSWER,
    ),
    Rule(
        c.DEVICE_IO,
        names(
            "request_wait_answer __fuse_request_send fuse_request_send "
            "__fuse_simple_request fuse_simple_request fuse_get_req* fuse_direct_io"
        ),
        "fs/fuse/dev.c request_wait_answer(): until the daemon has answered; "
        "fuse_get_req() until it may be asked at all",
        first=True,
        named=w.FUSE_ANSWER,
    ),
    Rule(
        c.DEVICE_IO,
        ("wait_for_response", "wait_for_free_request*", "wait_for_free_credits*"),
        "fs/smb/client/transport.c wait_for_response(), wait_for_free_credits() "
        "(fs/cifs/ before 6.4)",
        callers=names(
            "compound_send_recv cifs_send_recv SendReceive* smb2_* SMB2_* cifs_*"
        ),
        first=True,
        named=w.SMB_ANSWER,
    ),
    Rule(
        c.DEVICE_IO,
        names(
            "rpc_wait_bit_killable __rpc_wait_for_completion_task "
            "rpc_wait_for_completion_task __rpc_execute nfs4_do_close "
            "nfs4_run_open_task nfs_iocounter_wait do_unlk"
        ),
        "net/sunrpc/sched.c __rpc_execute(): until the call is answered; fs/nfs/file.c "
        "do_unlk(): nfs_iocounter_wait(), until I/O under the lock is",
        not_wait=(LOCK,),
        first=True,
        named=w.NFS_ANSWER,
    ),
    Rule(
        c.OTHER,
        names(
            "nfsd4_create_session nfsd4_destroy_session nfsd4_bind_conn_to_session "
            "nfsd4_shutdown_callback nfsd4_probe_callback_sync "
            "nfsd41_cb_inflight_wait_complete"
        ),
        "fs/nfsd/nfs4callback.c nfsd4_probe_callback_sync(), nfsd4_shutdown_callback() "
        "flush the queue of callbacks and wait until none is in flight",
        not_wait=(LOCK,),
        named=w.NFS_CALLBACK,
    ),
    Rule(
        c.DEVICE_IO,
        ("nfs4_wait_clnt_recover",),
        "fs/nfs/nfs4state.c nfs4_wait_clnt_recover(): until the server knows the "
        "client again, for which the state manager asks it",
        named=w.NFS_MANAGER,
    ),
    Rule(
        c.OTHER,
        ("nfs4_run_state_manager",),
        "fs/nfs/nfs4state.c nfs4_run_state_manager(): with nothing below, it waits to "
        "be asked",
        first=True,
        named=w.NFS_RECOVERY_IDLES,
    ),
    Rule(
        c.DEVICE_IO,
        ("p9_client_rpc", "p9_client_zc_rpc", "p9_virtio_zc_request"),
        "net/9p/client.c p9_client_rpc(): until the server has answered",
        first=True,
        named=w.P9_ANSWER,
    ),
    Rule(
        c.DEVICE_IO,
        ("netfs_wait_for_*",),
        "fs/netfs/misc.c netfs_wait_for_in_progress(): until the requests to the "
        "server are over",
        first=True,
        named=w.SERVER_ANSWER,
    ),
    Rule(
        c.DEVICE_IO,
        ("v9fs_evict_inode", "afs_evict_inode", "ceph_evict_inode", "cifs_evict_inode"),
        "include/linux/netfs.h netfs_wait_for_outstanding_io(), inlined: an inode goes "
        "when its requests to the server are over",
        not_wait=(LOCK, PAGE, IO),
        first=True,
        named=w.SERVER_ANSWER,
    ),
    Rule(
        c.DEVICE_IO,
        ("ceph_mdsc_wait_request", "ceph_mdsc_do_request", "afs_wait_for_*"),
        "fs/ceph/mds_client.c ceph_mdsc_wait_request(); fs/afs/rxrpc.c "
        "afs_wait_for_call_to_complete()",
        first=True,
        named=w.SERVER_ANSWER,
    ),
    Rule(
        c.OTHER,
        ("devtmpfs_submit_req",),
        "drivers/base/devtmpfs.c devtmpfs_submit_req(): until kdevtmpfs has done it",
        first=True,
        named=w.DEVTMPFS,
    ),
    Rule(
        c.OTHER,
        names(
            "io_wq_put_and_exit io_wq_exit_workers io_ring_exit_work "
            "io_uring_cancel_generic io_uring_cancel_sqpoll"
        ),
        "io_uring/io_uring.c io_ring_exit_work(), io-wq.c io_wq_put_and_exit(): until "
        "the requests that workers have begun are over",
        first=True,
        named=w.RING_ENDS,
    ),
)
