# SPDX-License-Identifier: GPL-2.0-only
"""superblocks: who keeps a whole file system: frozen, or its s_umount."""

from __future__ import annotations

from writestall.log.holders.form import Holder, functions, names, perhaps
from writestall_base import wait_classes as c

_FREEZES = names("freeze_super freeze_bdev bdev_freeze sb_wait_write")
_THAWS = names("thaw_super thaw_super_locked thaw_bdev bdev_thaw")
_STARTS_WRITE = names(
    "percpu_rwsem_wait __percpu_down_read percpu_down_read* *sb_start_*"
)
_SUPERS = names(
    "super_lock* __super_lock* iterate_supers* __iterate_supers grab_super* get_super* "
    "user_get_super deactivate_super freeze_super* thaw_super* sync_supers path_mount "
    "do_remount do_reconfigure_mnt vfs_cmd_reconfigure *sys_fsconfig *sys_syncfs"
)
# Who waits for the superblock itself; iterate_supers() also calls the function below.
_SUPERS_WAITS = names("super_lock* __super_lock* grab_super* deactivate_super")
_ENDS_SUPER = names(
    "generic_shutdown_super deactivate_locked_super kill_block_super do_remount_sb "
    "reconfigure_super freeze_super thaw_super get_tree_bdev* mount_bdev"
)
_FOR_WRITING = names("rwsem_down_write* down_write* __down_write*")
# fs/read_write.c vfs_write(), fs/namespace.c mnt_want_write(): sb_start_write() before.
_WRITES = names(
    "vfs_write vfs_writev vfs_iter_write do_iter_write vfs_fallocate "
    "vfs_copy_file_range *_write_begin *_file_write_iter do_ftruncate notify_change "
    "vfs_create vfs_mkdir vfs_mknod vfs_symlink vfs_unlink vfs_rmdir vfs_rename"
)
# Nor do those that still wait for it, and writes to other file systems than disks'.
_NO_WRITES = names(
    f"{' '.join(functions(_STARTS_WRITE))} proc_sys_call_handler proc_reg_write* "
    "kernfs_fop_write* pipe_write sock_write_iter tty_write* blkdev_write_iter"
)
# io_uring/rw.c kiocb_start_write(): s_writers until the write has ended.
_SUBMITS_WRITES = names("io_submit_sqes io_write")
_WAITS_FOR_WRITERS = names("percpu_down_write*")
_S_UMOUNT, _S_WRITERS = (
    "the lock of a superblock (s_umount)",
    "s_writers of a superblock",
)

HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.FS_LOCK: (
        Holder(
            "it freezes the file system",
            "fs/super.c freeze_super(): s_writers keeps all writes out",
            _FREEZES,
            lock=_S_WRITERS,
            of=_STARTS_WRITE,
            not_of=_FREEZES,
        ),
        perhaps(
            "it thaws the file system, and writes go on when it has",
            "fs/super.c thaw_super(): takes s_umount, then lets writers in "
            "(sb_freeze_unlock())",
            _THAWS,
            lock=_S_WRITERS,
            of=_STARTS_WRITE,
            not_of=_THAWS,
        ),
        perhaps(
            "it writes to the file system, and the freeze waits for it",
            "fs/super.c sb_wait_write(): percpu_down_write() of s_writers, which "
            "sb_start_write() holds for reading",
            _WRITES,
            lock=_S_WRITERS,
            caller=_FREEZES,
            of=_WAITS_FOR_WRITERS,
            not_shows=_NO_WRITES,
            any_right=True,
            one_waits=True,
        ),
        perhaps(
            "it makes a page writable, and the freeze waits for it",
            "fs/super.c freeze_super(): after the writers of SB_FREEZE_WRITE it waits "
            "for those of SB_FREEZE_PAGEFAULT, which sb_start_pagefault() holds",
            names("*_page_mkwrite"),
            lock="s_writers of a superblock, for page faults",
            caller=_FREEZES,
            of=_WAITS_FOR_WRITERS,
            not_shows=_STARTS_WRITE,
            any_right=True,
            one_waits=True,
        ),
        perhaps(
            "it may have writes in flight, and the freeze waits for them",
            "io_uring/rw.c kiocb_start_write(): s_writers is held until a write of an "
            "io_uring has ended",
            _SUBMITS_WRITES,
            lock=_S_WRITERS,
            caller=_FREEZES,
            of=_WAITS_FOR_WRITERS,
            any_right=True,
            one_waits=True,
        ),
        perhaps(
            "it changes the whole file system, holding s_umount",
            "fs/super.c deactivate_super(), reconfigure_super(), freeze_super()",
            _ENDS_SUPER,
            lock=_S_UMOUNT,
            caller=_SUPERS,
            not_of=_WAITS_FOR_WRITERS,
            not_called=_SUPERS,
        ),
        perhaps(
            "it syncs the file system, holding s_umount",
            "fs/fs-writeback.c sync_inodes_sb(), fs/sync.c sync_filesystem(): called "
            "under s_umount for reading (fs/super.c iterate_supers())",
            names(
                "sync_inodes_sb sync_inodes_one_sb sync_fs_one_sb sync_filesystem "
                "*_sync_fs iterate_supers __iterate_supers fs_bdev_sync"
            ),
            lock=_S_UMOUNT,
            not_shows=_SUPERS_WAITS,
            not_called=_SUPERS,
            caller=_SUPERS,
            not_of=_WAITS_FOR_WRITERS,
            any_right=True,
        ),
        perhaps(
            "it shrinks caches of the file system, holding s_umount",
            "fs/super.c super_cache_scan(): super_trylock_shared() (trylock_super() "
            "before 6.6) for as long as it prunes inodes and dentries",
            names("super_cache_scan"),
            lock=_S_UMOUNT,
            caller=_SUPERS,
            not_of=_WAITS_FOR_WRITERS,
        ),
        perhaps(
            "it writes inodes of a file system, holding its s_umount",
            "fs/fs-writeback.c __writeback_inodes_wb() takes s_umount for reading "
            "(trylock_super()) before writeback_sb_inodes()",
            names("__writeback_inodes_wb"),
            lock=_S_UMOUNT,
            caller=_SUPERS,
            not_of=_WAITS_FOR_WRITERS,
        ),
        perhaps(
            "it waits for s_umount to write, and readers queue behind it",
            "kernel/locking/rwsem.c rwsem_down_read_slowpath(): a reader does not pass "
            "a writer that waits",
            _FOR_WRITING,
            lock="s_umount, which a writer waits for",
            also=_SUPERS,
            caller=_SUPERS,
            of=names("*down_read*"),
            any_right=True,
        ),
    ),
}
