/* SPDX-License-Identifier: GPL-2.0-only */
/* call_table.h: list the calls of a file system and their arguments */

/* docs/render-calls.py writes it from docs/calls.toml; included where struct call is. */

#ifdef __NR_write
{ .name = "write", .group = "writes", .number = __NR_write, .argument[HOW_FD] = 1, .argument[HOW_BYTES] = 3, .position = true, .exact = true },
#endif
#ifdef __NR_pwrite64
{ .name = "pwrite64", .group = "writes", .number = __NR_pwrite64, .argument[HOW_FD] = 1, .argument[HOW_BYTES] = 3, .argument[HOW_OFFSET] = 4, .exact = true },
#endif
#ifdef __NR_writev
{ .name = "writev", .group = "writes", .number = __NR_writev, .argument[HOW_FD] = 1, .argument[HOW_VECTOR] = 3, .position = true, .exact = true },
#endif
#ifdef __NR_pwritev
{ .name = "pwritev", .group = "writes", .number = __NR_pwritev, .argument[HOW_FD] = 1, .argument[HOW_VECTOR] = 3, .argument[HOW_OFFSET] = 4, .position = true, .exact = true },
#endif
#ifdef __NR_pwritev2
{ .name = "pwritev2", .group = "writes", .number = __NR_pwritev2, .argument[HOW_FD] = 1, .argument[HOW_VECTOR] = 3, .argument[HOW_OFFSET] = 4, .position = true, .exact = true },
#endif
#ifdef __NR_copy_file_range
{ .name = "copy_file_range", .group = "writes", .number = __NR_copy_file_range, .argument[HOW_FD] = 3, .argument[HOW_ALSO] = 1, .argument[HOW_BYTES] = 5 },
#endif
#ifdef __NR_sendfile
{ .name = "sendfile", .group = "writes", .number = __NR_sendfile, .argument[HOW_FD] = 1, .argument[HOW_ALSO] = 2, .argument[HOW_BYTES] = 4 },
#endif
#ifdef __NR_splice
{ .name = "splice", .group = "writes", .number = __NR_splice, .argument[HOW_FD] = 3, .argument[HOW_ALSO] = 1, .argument[HOW_BYTES] = 5 },
#endif
#ifdef __NR_fallocate
{ .name = "fallocate", .group = "writes", .number = __NR_fallocate, .argument[HOW_FD] = 1, .argument[HOW_BYTES] = 4, .argument[HOW_OFFSET] = 3 },
#endif
#ifdef __NR_ftruncate
{ .name = "ftruncate", .group = "writes", .number = __NR_ftruncate, .argument[HOW_FD] = 1, .argument[HOW_OFFSET] = 2 },
#endif
#ifdef __NR_truncate
{ .name = "truncate", .group = "writes", .number = __NR_truncate, .argument[HOW_NAME] = 1, .argument[HOW_OFFSET] = 2 },
#endif
#ifdef __NR_fsync
{ .name = "fsync", .group = "syncs", .number = __NR_fsync, .argument[HOW_FD] = 1, .exact = true },
#endif
#ifdef __NR_fdatasync
{ .name = "fdatasync", .group = "syncs", .number = __NR_fdatasync, .argument[HOW_FD] = 1, .exact = true },
#endif
#ifdef __NR_sync_file_range
{ .name = "sync_file_range", .group = "syncs", .number = __NR_sync_file_range, .argument[HOW_FD] = 1, .argument[HOW_BYTES] = 3, .argument[HOW_OFFSET] = 2 },
#endif
#ifdef __NR_msync
{ .name = "msync", .group = "syncs", .number = __NR_msync, .argument[HOW_BYTES] = 2, .stack = true, .shared = true },
#endif
#ifdef __NR_syncfs
{ .name = "syncfs", .group = "syncs", .number = __NR_syncfs, .argument[HOW_FD] = 1 },
#endif
#ifdef __NR_sync
{ .name = "sync", .group = "syncs", .number = __NR_sync },
#endif
#ifdef __NR_read
{ .name = "read", .group = "reads", .number = __NR_read, .argument[HOW_FD] = 1, .argument[HOW_BYTES] = 3, .position = true },
#endif
#ifdef __NR_pread64
{ .name = "pread64", .group = "reads", .number = __NR_pread64, .argument[HOW_FD] = 1, .argument[HOW_BYTES] = 3, .argument[HOW_OFFSET] = 4 },
#endif
#ifdef __NR_readv
{ .name = "readv", .group = "reads", .number = __NR_readv, .argument[HOW_FD] = 1, .argument[HOW_VECTOR] = 3, .position = true },
#endif
#ifdef __NR_preadv
{ .name = "preadv", .group = "reads", .number = __NR_preadv, .argument[HOW_FD] = 1, .argument[HOW_VECTOR] = 3, .argument[HOW_OFFSET] = 4, .position = true },
#endif
#ifdef __NR_preadv2
{ .name = "preadv2", .group = "reads", .number = __NR_preadv2, .argument[HOW_FD] = 1, .argument[HOW_VECTOR] = 3, .argument[HOW_OFFSET] = 4, .position = true },
#endif
#ifdef __NR_readahead
{ .name = "readahead", .group = "reads", .number = __NR_readahead, .argument[HOW_FD] = 1, .argument[HOW_BYTES] = 3, .argument[HOW_OFFSET] = 2 },
#endif
#ifdef __NR_fadvise64
{ .name = "fadvise64", .group = "reads", .number = __NR_fadvise64, .argument[HOW_FD] = 1, .argument[HOW_BYTES] = 3, .argument[HOW_OFFSET] = 2 },
#endif
#ifdef __NR_lseek
{ .name = "lseek", .group = "reads", .number = __NR_lseek, .argument[HOW_FD] = 1 },
#endif
#ifdef __NR_getdents
{ .name = "getdents", .group = "reads", .number = __NR_getdents, .argument[HOW_FD] = 1 },
#endif
#ifdef __NR_getdents64
{ .name = "getdents64", .group = "reads", .number = __NR_getdents64, .argument[HOW_FD] = 1 },
#endif
#ifdef __NR_execve
{ .name = "execve", .group = "reads", .number = __NR_execve, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_execveat
{ .name = "execveat", .group = "reads", .number = __NR_execveat, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#endif
#ifdef __NR_open
{ .name = "open", .group = "names", .number = __NR_open, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_openat
{ .name = "openat", .group = "names", .number = __NR_openat, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#endif
{ .name = "openat2", .group = "names", .number = 437, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#ifdef __NR_creat
{ .name = "creat", .group = "names", .number = __NR_creat, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_close
{ .name = "close", .group = "names", .number = __NR_close, .stack = true },
#endif
#ifdef __NR_mkdir
{ .name = "mkdir", .group = "names", .number = __NR_mkdir, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_mkdirat
{ .name = "mkdirat", .group = "names", .number = __NR_mkdirat, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#endif
#ifdef __NR_mknod
{ .name = "mknod", .group = "names", .number = __NR_mknod, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_mknodat
{ .name = "mknodat", .group = "names", .number = __NR_mknodat, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#endif
#ifdef __NR_rmdir
{ .name = "rmdir", .group = "names", .number = __NR_rmdir, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_unlink
{ .name = "unlink", .group = "names", .number = __NR_unlink, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_unlinkat
{ .name = "unlinkat", .group = "names", .number = __NR_unlinkat, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#endif
#ifdef __NR_rename
{ .name = "rename", .group = "names", .number = __NR_rename, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_renameat
{ .name = "renameat", .group = "names", .number = __NR_renameat, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#endif
#ifdef __NR_renameat2
{ .name = "renameat2", .group = "names", .number = __NR_renameat2, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#endif
#ifdef __NR_link
{ .name = "link", .group = "names", .number = __NR_link, .argument[HOW_NAME] = 2 },
#endif
#ifdef __NR_linkat
{ .name = "linkat", .group = "names", .number = __NR_linkat, .argument[HOW_FOLDER] = 3, .argument[HOW_NAME] = 4 },
#endif
#ifdef __NR_symlink
{ .name = "symlink", .group = "names", .number = __NR_symlink, .argument[HOW_NAME] = 2 },
#endif
#ifdef __NR_symlinkat
{ .name = "symlinkat", .group = "names", .number = __NR_symlinkat, .argument[HOW_FOLDER] = 2, .argument[HOW_NAME] = 3 },
#endif
#ifdef __NR_chdir
{ .name = "chdir", .group = "names", .number = __NR_chdir, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_umount2
{ .name = "umount2", .group = "names", .number = __NR_umount2, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_stat
{ .name = "stat", .group = "attributes", .number = __NR_stat, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_lstat
{ .name = "lstat", .group = "attributes", .number = __NR_lstat, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_fstat
{ .name = "fstat", .group = "attributes", .number = __NR_fstat, .argument[HOW_FD] = 1 },
#endif
#ifdef __NR_newfstatat
{ .name = "newfstatat", .group = "attributes", .number = __NR_newfstatat, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#endif
#ifdef __NR_statx
{ .name = "statx", .group = "attributes", .number = __NR_statx, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#endif
#ifdef __NR_statfs
{ .name = "statfs", .group = "attributes", .number = __NR_statfs, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_fstatfs
{ .name = "fstatfs", .group = "attributes", .number = __NR_fstatfs, .argument[HOW_FD] = 1 },
#endif
#ifdef __NR_access
{ .name = "access", .group = "attributes", .number = __NR_access, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_faccessat
{ .name = "faccessat", .group = "attributes", .number = __NR_faccessat, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#endif
{ .name = "faccessat2", .group = "attributes", .number = 439, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#ifdef __NR_readlink
{ .name = "readlink", .group = "attributes", .number = __NR_readlink, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_readlinkat
{ .name = "readlinkat", .group = "attributes", .number = __NR_readlinkat, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#endif
#ifdef __NR_chmod
{ .name = "chmod", .group = "attributes", .number = __NR_chmod, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_fchmod
{ .name = "fchmod", .group = "attributes", .number = __NR_fchmod, .argument[HOW_FD] = 1 },
#endif
#ifdef __NR_fchmodat
{ .name = "fchmodat", .group = "attributes", .number = __NR_fchmodat, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#endif
{ .name = "fchmodat2", .group = "attributes", .number = 452, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#ifdef __NR_chown
{ .name = "chown", .group = "attributes", .number = __NR_chown, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_fchown
{ .name = "fchown", .group = "attributes", .number = __NR_fchown, .argument[HOW_FD] = 1 },
#endif
#ifdef __NR_lchown
{ .name = "lchown", .group = "attributes", .number = __NR_lchown, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_fchownat
{ .name = "fchownat", .group = "attributes", .number = __NR_fchownat, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#endif
#ifdef __NR_utime
{ .name = "utime", .group = "attributes", .number = __NR_utime, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_utimes
{ .name = "utimes", .group = "attributes", .number = __NR_utimes, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_futimesat
{ .name = "futimesat", .group = "attributes", .number = __NR_futimesat, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#endif
#ifdef __NR_utimensat
{ .name = "utimensat", .group = "attributes", .number = __NR_utimensat, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#endif
#ifdef __NR_setxattr
{ .name = "setxattr", .group = "attributes", .number = __NR_setxattr, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_lsetxattr
{ .name = "lsetxattr", .group = "attributes", .number = __NR_lsetxattr, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_fsetxattr
{ .name = "fsetxattr", .group = "attributes", .number = __NR_fsetxattr, .argument[HOW_FD] = 1 },
#endif
{ .name = "setxattrat", .group = "attributes", .number = 463, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#ifdef __NR_getxattr
{ .name = "getxattr", .group = "attributes", .number = __NR_getxattr, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_lgetxattr
{ .name = "lgetxattr", .group = "attributes", .number = __NR_lgetxattr, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_fgetxattr
{ .name = "fgetxattr", .group = "attributes", .number = __NR_fgetxattr, .argument[HOW_FD] = 1 },
#endif
{ .name = "getxattrat", .group = "attributes", .number = 464, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#ifdef __NR_listxattr
{ .name = "listxattr", .group = "attributes", .number = __NR_listxattr, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_llistxattr
{ .name = "llistxattr", .group = "attributes", .number = __NR_llistxattr, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_flistxattr
{ .name = "flistxattr", .group = "attributes", .number = __NR_flistxattr, .argument[HOW_FD] = 1 },
#endif
{ .name = "listxattrat", .group = "attributes", .number = 465, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#ifdef __NR_removexattr
{ .name = "removexattr", .group = "attributes", .number = __NR_removexattr, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_lremovexattr
{ .name = "lremovexattr", .group = "attributes", .number = __NR_lremovexattr, .argument[HOW_NAME] = 1 },
#endif
#ifdef __NR_fremovexattr
{ .name = "fremovexattr", .group = "attributes", .number = __NR_fremovexattr, .argument[HOW_FD] = 1 },
#endif
{ .name = "removexattrat", .group = "attributes", .number = 466, .argument[HOW_FOLDER] = 1, .argument[HOW_NAME] = 2 },
#ifdef __NR_ioctl
{ .name = "ioctl", .group = "attributes", .number = __NR_ioctl, .argument[HOW_FD] = 1 },
#endif
{ .name = "io_uring_enter", .group = "requests", .number = 426 },
{ .name = "io_uring_read", .group = "reads", .number = 1022, .argument[HOW_BYTES] = 1 },
{ .name = "io_uring_readv", .group = "reads", .number = 1001, .argument[HOW_VECTOR] = 1 },
{ .name = "io_uring_read_fixed", .group = "reads", .number = 1004, .argument[HOW_BYTES] = 1 },
{ .name = "io_uring_write", .group = "writes", .number = 1023, .argument[HOW_BYTES] = 1 },
{ .name = "io_uring_writev", .group = "writes", .number = 1002, .argument[HOW_VECTOR] = 1 },
{ .name = "io_uring_write_fixed", .group = "writes", .number = 1005, .argument[HOW_BYTES] = 1 },
{ .name = "io_uring_writev_fixed", .group = "writes", .number = 1061, .argument[HOW_VECTOR] = 1 },
{ .name = "io_uring_fsync", .group = "syncs", .number = 1003 },
{ .name = "io_uring_sync_file_range", .group = "syncs", .number = 1008 },
{ .name = "io_uring_fallocate", .group = "writes", .number = 1017 },
{ .name = "io_uring_ftruncate", .group = "writes", .number = 1055 },
{ .name = "aio_read", .group = "reads", .number = 2000, .argument[HOW_BYTES] = 1 },
{ .name = "aio_readv", .group = "reads", .number = 2007, .argument[HOW_VECTOR] = 1 },
{ .name = "aio_write", .group = "writes", .number = 2001, .argument[HOW_BYTES] = 1 },
{ .name = "aio_writev", .group = "writes", .number = 2008, .argument[HOW_VECTOR] = 1 },
{ .name = "aio_fsync", .group = "syncs", .number = 2002 },
{ .name = "aio_fdatasync", .group = "syncs", .number = 2003 },
{ .name = "io_submit", .group = "requests", .number = 2099 },
{ .name = "page_fault", .group = "faults", .number = 3000 },
