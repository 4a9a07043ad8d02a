# SPDX-License-Identifier: GPL-2.0-only
"""smb: who holds the locks of an SMB client's open files."""

from __future__ import annotations

from writestall.log.holders.form import Holder, names, perhaps
from writestall_base import wait_classes as c

_WRITERS = "_cifsFileInfo_put cifs_new_fileinfo cifs_down_write cifs_del_lock_waiters"
_LOCK_SEM = perhaps(
    "it reads or writes the file, or opens it again, holding lock_sem",
    "fs/smb/client/file.c cifs_strict_readv(), cifs_writev(), cifs_push_locks() take "
    "lock_sem for reading, _cifsFileInfo_put() and cifs_new_fileinfo() for writing "
    "(since 5.4 they try it again and again: cifs_down_write())",
    names("cifs_strict_readv cifs_strict_writev cifs_writev cifs_push_locks"),
    lock="lock_sem of an SMB inode",
    caller=names(_WRITERS),
    any_right=True,
    not_called=names("cifs_strict_readv cifs_strict_writev cifs_writev"),
)
_QUEUED = perhaps(
    "it wants lock_sem for writing, which keeps readers out",
    "fs/smb/client/file.c _cifsFileInfo_put(); kernel/locking/rwsem.c",
    names("_cifsFileInfo_put cifs_new_fileinfo"),
    lock="lock_sem of an SMB inode",
    also=names("*down_write*"),
    caller=names("cifs_reopen_file cifs_push_locks cifs_strict_readv cifs_writev"),
    any_right=True,
)
_LAUNDERS = perhaps(
    "it writes the page itself, and waits before its end",
    "fs/cifs/file.c cifs_writepage_locked() (up to 6.2): from set_page_writeback() to "
    "end_page_writeback()",
    names("cifs_writepage_locked cifs_launder_page"),
    lock="PG_writeback of a page of SMB",
)
HOLDERS: dict[str, tuple[Holder, ...]] = {
    c.FS_LOCK: (_LOCK_SEM, _QUEUED),
    c.OTHER: (_LOCK_SEM, _QUEUED),
    c.PAGE_WRITEBACK: (_LAUNDERS,),
}
