# SPDX-License-Identifier: GPL-2.0-only
"""calls: list the calls of a file system by group, by the names that events have.

docs/render-calls.py writes it from docs/calls.toml.
"""

from __future__ import annotations

# fmt: off
GROUPS: dict[str, tuple[str, ...]] = {
    "writes": (
        "write", "pwrite64", "writev", "pwritev", "pwritev2", "copy_file_range",
        "sendfile", "splice", "fallocate", "ftruncate", "truncate", "io_uring_write",
        "io_uring_writev", "io_uring_write_fixed", "io_uring_writev_fixed",
        "io_uring_fallocate", "io_uring_ftruncate", "aio_write", "aio_writev",
    ),
    "syncs": (
        "fsync", "fdatasync", "sync_file_range", "msync", "syncfs", "sync",
        "io_uring_fsync", "io_uring_sync_file_range", "aio_fsync", "aio_fdatasync",
    ),
    "reads": (
        "read", "pread64", "readv", "preadv", "preadv2", "readahead", "fadvise64",
        "lseek", "getdents", "getdents64", "execve", "execveat", "io_uring_read",
        "io_uring_readv", "io_uring_read_fixed", "aio_read", "aio_readv",
    ),
    "names": (
        "open", "openat", "openat2", "creat", "close", "close_range", "dup2", "dup3",
        "mmap", "munmap", "exit", "exit_group", "mkdir", "mkdirat", "mknod", "mknodat",
        "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link",
        "linkat", "symlink", "symlinkat", "chdir", "umount2",
    ),
    "attributes": (
        "stat", "lstat", "fstat", "newfstatat", "statx", "statfs", "fstatfs", "access",
        "faccessat", "faccessat2", "readlink", "readlinkat", "chmod", "fchmod",
        "fchmodat", "fchmodat2", "chown", "fchown", "lchown", "fchownat", "utime",
        "utimes", "futimesat", "utimensat", "setxattr", "lsetxattr", "fsetxattr",
        "setxattrat", "getxattr", "lgetxattr", "fgetxattr", "getxattrat", "listxattr",
        "llistxattr", "flistxattr", "listxattrat", "removexattr", "lremovexattr",
        "fremovexattr", "removexattrat", "ioctl",
    ),
    "sockets": (
        "bind", "connect", "recvfrom", "recvmsg", "recvmmsg", "sendto", "sendmsg",
        "sendmmsg",
    ),
    "requests": (
        "io_uring_enter", "io_submit",
    ),
    "faults": (
        "page_fault",
    ),
}
# Requests and faults: no system calls.
NO_SYSTEM_CALLS = (
    "io_uring_read", "io_uring_readv", "io_uring_read_fixed", "io_uring_write",
    "io_uring_writev", "io_uring_write_fixed", "io_uring_writev_fixed",
    "io_uring_fsync", "io_uring_sync_file_range", "io_uring_fallocate",
    "io_uring_ftruncate", "aio_read", "aio_readv", "aio_write", "aio_writev",
    "aio_fsync", "aio_fdatasync", "page_fault",
)
# fmt: on
