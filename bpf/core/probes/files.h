/* SPDX-License-Identifier: GPL-2.0-only */
/* files.h: find the file of a descriptor, and what a call asks of it */
#ifndef FILES_H
#define FILES_H

#include "paths.h"
#include "registers.h"

#define FILE_TYPE 0170000	/* S_IFMT */
#define REGULAR_FILE 0100000	/* S_IFREG */
#define BLOCK_DEVICE 0060000	/* S_IFBLK */
#define MOST_VECTORS 16

/* The open file of a descriptor of the current task, 0 if there is none. */
static __always_inline __u64 file_of(struct task_struct *task, __s64 fd)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);

	if (fd < 0 || fd >= BPF_CORE_READ(table, max_fds))
		return 0;
	return word_at((__u64)(BPF_CORE_READ(table, fd) + fd));
}

/* Where in user memory a call has its path; 0: nowhere. */
static __always_inline __u64 name_at(const struct registers *regs, __u64 how)
{
	__u64 user = argument(regs, how, HOW_NAME);

	return how & HOW_ADDRESS ? path_of_address(user) : user;
}

/* The descriptor that a call works on: a pipe or a socket may be the first. */
static __always_inline __s64 fd_of(struct task_struct *task, const struct registers *regs,
				   __u64 how)
{
	__s64 fd = (__s32)argument(regs, how, HOW_FD);
	struct file *file;

	if (!has_argument(how, HOW_ALSO))
		return fd;
	file = (void *)file_of(task, fd);
	if (file && (BPF_CORE_READ(file, f_inode, i_mode) & FILE_TYPE) == REGULAR_FILE)
		return fd;
	return (__s32)argument(regs, how, HOW_ALSO);
}

/*
 * Bytes of an iovec array in user memory, UNKNOWN if there are many. Not inline: the
 * verifier checks such a function once, not for each way that leads to it.
 */
__noinline __s64 bytes_of_vectors(__u64 user, __u64 count)
{
	__s64 sum = 0;
	__u32 i;

	if (count > MOST_VECTORS)
		return UNKNOWN;
	for (i = 0; i < MOST_VECTORS; i++) {
		struct iovec vector = {};

		if (i >= count)
			break;
		bpf_probe_read_user(&vector, sizeof(vector),
				    (void *)(user + i * sizeof(vector)));
		sum += vector.iov_len;
	}
	return sum;
}

/* Where: the argument, or the file's position; UNKNOWN: no such thing. */
static __always_inline __s64 offset_of(const struct registers *regs, __u64 how, __u64 file)
{
	__s64 offset = UNKNOWN;

	if (has_argument(how, HOW_OFFSET))
		offset = argument(regs, how, HOW_OFFSET);
	if (offset == UNKNOWN && (how & HOW_POSITION) && file)
		offset = BPF_CORE_READ((struct file *)file, f_pos);
	return offset;
}

/* A folder's name: of the root of a mount, that of the folder it is mounted on. */
static __always_inline void name_folder(char *name, struct dentry *folder,
					struct vfsmount *mnt)
{
	if (folder == BPF_CORE_READ(folder, d_parent)) {
		__u64 mount = (__u64)mnt - bpf_core_field_offset(struct mount, mnt);

		folder = BPF_CORE_READ((struct mount *)mount, mnt_mountpoint);
	}
	if (bpf_probe_read_kernel_str(name, FOLDER_BYTES,
				      BPF_CORE_READ(folder, d_name.name)) < 0)
		name[0] = 0;
}

#endif
