/* SPDX-License-Identifier: GPL-2.0-only */
/* profile.h: keep the calls of the chosen tasks on files of disks, for a replay */
#ifndef PROFILE_H
#define PROFILE_H

#include "files.h"
#include "inflight.h"
#include "only.h"

#define FOLDER 0040000		/* S_IFDIR */
#define FS_REQUIRES_DEV 1	/* linux/fs.h */
#define XFS_MAGIC 0x58465342	/* linux/magic.h, XFS_SUPER_MAGIC */
#define FMODE_CREATED 0x100000	/* linux/fs.h */
#define LOOKED_JIFFIES 25	/* how long it is believed that a task is chosen: 25 to 250 ms */

/* asm-generic/fcntl.h; arm64 has an O_DIRECT of its own */
#if defined(__TARGET_ARCH_arm64)
#define O_DIRECT 0200000
#else
#define O_DIRECT 040000
#endif
#define O_TRUNC 01000
#define O_APPEND 02000
#define O_DSYNC 010000
#define O_SYNC_ALONE 04000000

static __always_inline enum keep op_of(__u64 how)
{
	return how >> HOW_KEEP & 15;
}

static __always_inline __u32 flags_of_file(__u32 flags)
{
	return (flags & O_APPEND ? KEPT_APPEND : 0) | (flags & O_DIRECT ? KEPT_DIRECT : 0) |
		(flags & O_DSYNC ? KEPT_DSYNC : 0) | (flags & O_SYNC_ALONE ? KEPT_SYNC : 0);
}

/* A regular file or a folder of a file system on a disk. */
static __always_inline bool is_on_disk(struct inode *inode)
{
	__u32 type = BPF_CORE_READ(inode, i_mode) & FILE_TYPE;

	return (type == REGULAR_FILE || type == FOLDER) &&
		BPF_CORE_READ(inode, i_sb, s_type, fs_flags) & FS_REQUIRES_DEV;
}

/*
 * fs/stat.c, inode_get_bytes(); what is written but has no place yet is not counted. XFS
 * counts in an inode of its own: fs/xfs/xfs_iops.c, xfs_vn_getattr().
 */
static __always_inline __s64 allocated_of(struct inode *inode)
{
	if (BPF_CORE_READ(inode, i_sb, s_magic) == XFS_MAGIC)
		return UNKNOWN;
	return (BPF_CORE_READ(inode, i_blocks) << 9) + BPF_CORE_READ(inode, i_bytes);
}

static __always_inline __u32 new_file(struct inode *inode, struct dentry *dentry,
				      const struct file_key *key)
{
	struct file_row row = { .kind = ROW_FILE, .dev = key->dev, .ino = key->ino };
	__u32 *known;

	if (!is_on_disk(inode) || (only_dev && key->dev != only_dev) ||
	    (only_ino && !is_below(dentry)))
		return 0;
	row.number = __sync_fetch_and_add(&files_seen, 1) + 1;
	if (bpf_map_update_elem(&files, key, &row.number, BPF_NOEXIST)) {
		/* another task's, just now; or there is no room */
		known = bpf_map_lookup_elem(&files, key);
		if (!known)
			lose(&unkept.lost);
		return known ? *known : 0;
	}
	row.is_folder = (BPF_CORE_READ(inode, i_mode) & FILE_TYPE) == FOLDER;
	row.bytes = BPF_CORE_READ(inode, i_size);
	row.allocated = allocated_of(inode);
	row.t_ns = bpf_ktime_get_ns();
	hand_over(&row, sizeof(row));
	return row.number;
}

static __always_inline __u32 *number_known(struct inode *inode, struct file_key *key)
{
	key->ino = BPF_CORE_READ(inode, i_ino);
	key->dev = BPF_CORE_READ(inode, i_sb, s_dev);
	return bpf_map_lookup_elem(&files, key);
}

/* The number of a file, 0 for one that is not chosen. */
static __always_inline __u32 number_of(struct inode *inode, struct dentry *dentry)
{
	struct file_key key = {};
	__u32 *known = number_known(inode, &key);

	return known ? *known : new_file(inode, dentry, &key);
}

/* What the current task is in; 0 where there is no memory for it. */
static __always_inline struct caller *caller_of_task(void)
{
	struct caller *caller = bpf_task_storage_get(&callers, bpf_get_current_task_btf(), 0,
						     BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!caller)
		lose(&unkept.lost);
	return caller;
}

/* The same, 0 for a task that has entered nothing. */
static __always_inline struct caller *known_caller(void)
{
	return bpf_task_storage_get(&callers, bpf_get_current_task_btf(), 0, 0);
}

/* It is remembered for a while. */
static __always_inline bool is_caller(struct caller *caller, struct task_struct *task)
{
	__s32 tid = task->pid;
	__u64 now = bpf_jiffies64();	/* a load */

	if (caller->tid != tid || now - caller->looked_jiffies > LOOKED_JIFFIES) {
		caller->tid = tid;
		caller->looked_jiffies = now;
		caller->is_chosen = is_name_chosen(task) &&
			(!only_pid || in_family(task, only_pid));
	}
	return caller->is_chosen;
}

/* Whether the current task is chosen, whose `caller` that is. */
static __always_inline bool is_chosen_caller(struct caller *caller)
{
	return caller && is_caller(caller, bpf_get_current_task_btf());
}

static __always_inline __u32 number_of_file(struct file *file)
{
	struct file_key key = {};
	struct inode *inode;
	__u32 *known;

	if (!file)
		return 0;
	inode = BPF_CORE_READ(file, f_inode);
	known = number_known(inode, &key);
	return known ? *known : new_file(inode, BPF_CORE_READ(file, f_path.dentry), &key);
}

/* As file_of(), of the current task, whose structures the verifier knows: plain loads. */
static __always_inline struct file *open_file(__s32 fd)
{
	struct fdtable *table = bpf_get_current_task_btf()->files->fdt;

	if (fd < 0 || (__u32)fd >= table->max_fds)
		return 0;
	return (void *)word_at((__u64)(table->fd + fd));
}

/* sendfile(2) reads `also`, at the offset that the next argument points to, if any. */
static __always_inline __s64 source_offset(const struct registers *regs, struct file *file)
{
	__s64 offset = UNKNOWN;

	if (!regs->arguments[2])
		return BPF_CORE_READ(file, f_pos);
	bpf_probe_read_user(&offset, sizeof(offset), (void *)regs->arguments[2]);
	return offset;
}

/* What a call by descriptor works on; false: no file of ours. */
static __always_inline bool note_file(struct caller *caller, const struct registers *regs,
				      __u64 how)
{
	bool sends = has_argument(how, HOW_ALSO);
	struct file *file = open_file(argument(regs, how, sends ? HOW_ALSO : HOW_FD));

	caller->file = (__u64)file;
	caller->number = number_of_file(file);
	if (!caller->number)
		return false;
	caller->flags = flags_of_file(BPF_CORE_READ(file, f_flags));
	caller->offset = sends ? source_offset(regs, file) :
		offset_of(regs, how, caller->file);
	return true;
}

/* What the arguments say, besides file and offset. */
static __always_inline void note_arguments(struct caller *caller,
					   const struct registers *regs, __u64 how)
{
	caller->bytes = 0;
	if (caller->op == KEEP_OPEN)	/* the file itself forgets O_TRUNC */
		caller->flags = (has_argument(how, HOW_FOLDER) ? regs->arguments[2] :
				 regs->arguments[1]) & O_TRUNC ? KEPT_TRUNCATED : 0;
	if (caller->op == KEEP_SYNC_RANGE || caller->op == KEEP_ALLOCATE) {
		__u64 bytes = argument(regs, how, HOW_BYTES);
		__u64 flags = caller->op == KEEP_ALLOCATE ? regs->arguments[1] :
			regs->arguments[3];

		caller->bytes = bytes > 0xffffffff ? 0xffffffff : bytes;
		caller->flags = flags & ~KEPT_FAILED;
	}
}

/* A file's size is that before its first call, which end_transfer() is too late for. */
static __always_inline void know_before(struct caller *caller, __s32 fd)
{
	struct file *file;

	if (caller->written_fd == fd + 1)
		return;
	caller->written_fd = fd + 1;
	file = open_file(fd);
	if (file && (BPF_CORE_READ(file, f_inode, i_mode) & FILE_TYPE) == REGULAR_FILE)
		number_of_file(file);
}

static __always_inline void enter_kept(const struct registers *regs)
{
	struct caller *caller = caller_of_task();
	__u64 how = how_of(regs->call);
	enum keep op = op_of(how);

	if (!caller)
		return;
	caller->op = KEEP_NOTHING;
	if (!is_chosen_caller(caller))
		return;
	if (how & HOW_TRANSFER) {
		if (op == KEEP_WRITE)
			know_before(caller, regs->arguments[0]);
		caller->op = op;
		caller->t_ns = bpf_ktime_get_ns();
		return;
	}
	caller->number = 0;
	caller->flags = 0;
	caller->offset = 0;
	if (op == KEEP_CLOSE) {
		caller->written_fd = 0;
		how |= 1;	/* HOW_FD: the table finds it otherwise */
	}
	if (has_argument(how, HOW_FD) && !note_file(caller, regs, how))
		return;
	caller->op = op;
	note_arguments(caller, regs, how);
	caller->t_ns = bpf_ktime_get_ns();
}

/* What the file was opened to be. */
static __always_inline void note_opened(struct caller *caller, __s64 fd)
{
	struct file *file = open_file(fd);

	if (!file)
		return;
	caller->number = number_of_file(file);
	caller->flags |= flags_of_file(BPF_CORE_READ(file, f_flags));
	if (BPF_CORE_READ(file, f_mode) & FMODE_CREATED)
		caller->flags |= KEPT_CREATED;
}

/* What its result says of it. */
static __always_inline void note_result(struct caller *caller, __s64 ret)
{
	struct file *file = (void *)caller->file;

	if (caller->op == KEEP_OPEN) {
		if (ret >= 0)
			note_opened(caller, ret);
	} else if (ret < 0) {
		caller->flags = KEPT_FAILED;
	} else if (caller->op == KEEP_WRITE || caller->op == KEEP_READ) {
		caller->bytes = ret;
		if (caller->op == KEEP_WRITE && (caller->flags & KEPT_APPEND))
			caller->offset = BPF_CORE_READ(file, f_pos) - ret;
	}
}

/* The reader looks once a second; it is woken where that would be too late. */
static __always_inline __u64 waking_flags(void)
{
	return bpf_ringbuf_query(&kept, BPF_RB_AVAIL_DATA) > KEPT_SIZE / 2 ?
		0 : BPF_RB_NO_WAKEUP;
}

/* A row is full but for how long it took; returns when it ended. */
static __always_inline __s64 keep(struct kept_row *row)
{
	__s64 now = bpf_ktime_get_ns();
	__u64 took = (__u64)(now - row->t_ns) / TOOK_NS;

	row->took = took > 0xffffffff ? 0xffffffff : took;
	if (bpf_ringbuf_output(&kept, row, sizeof(*row), waking_flags()))
		lose(&unkept.lost);
	return now;
}

/*
 * At the end of vfs_read() or vfs_write(), fs/read_write.c, whose `position` is the end of
 * what was moved: plain loads, for the verifier knows the type of `file`.
 */
static __always_inline void end_transfer(enum keep op, struct file *file, __u64 position,
					 __s64 ret)
{
	struct inode *inode = file->f_inode;
	struct file_key key = {};
	struct caller *caller;
	struct kept_row row;
	__u32 *known;

	if ((inode->i_mode & FILE_TYPE) != REGULAR_FILE)
		return;		/* pipes and sockets are read most */
	caller = known_caller();
	if (!caller || caller->op != op)
		return;
	caller->op = KEEP_NOTHING;
	key.ino = inode->i_ino;
	key.dev = inode->i_sb->s_dev;
	known = bpf_map_lookup_elem(&files, &key);
	row.file = known ? *known : new_file(inode, BPF_CORE_READ(file, f_path.dentry), &key);
	if (!row.file)
		return;
	row.t_ns = caller->t_ns;
	row.tid = caller->tid;
	row.op = op;
	row.bytes = ret < 0 ? 0 : ret;
	row.offset = word_at(position) - row.bytes;
	row.flags = ret < 0 ? KEPT_FAILED : flags_of_file(file->f_flags);
	caller->news_ns = keep(&row);
}

/* A call that no replay makes: that there was one. */
static __always_inline void count_left(void)
{
	struct caller *caller = caller_of_task();

	if (is_chosen_caller(caller))
		lose(&unkept.left);
}

static __always_inline void leave_kept(__s64 ret)
{
	struct caller *caller = known_caller();
	struct kept_row row;

	if (!caller || caller->op == KEEP_NOTHING)
		return;
	note_result(caller, ret);
	if (caller->number) {
		row.t_ns = caller->t_ns;
		row.offset = caller->offset;
		row.tid = caller->tid;
		row.bytes = caller->bytes;
		row.file = caller->number;
		row.op = caller->op;
		row.flags = caller->flags;
		caller->news_ns = keep(&row);
	}
	caller->op = KEEP_NOTHING;
}

/* The caller whose call of this kind has gone deeper; 0: the task is in no such call. */
static __always_inline struct caller *caller_in(enum keep op)
{
	struct caller *caller = known_caller();

	return caller && caller->op == op ? caller : 0;
}

static __always_inline void unlink_kept(struct dentry *dentry)
{
	struct caller *caller = caller_in(KEEP_UNLINK);

	if (caller)
		caller->number = number_of(BPF_CORE_READ(dentry, d_inode), dentry);
}

static __always_inline void rename_kept(struct dentry *from, struct dentry *to)
{
	struct caller *caller = caller_in(KEEP_RENAME);
	struct inode *replaced = BPF_CORE_READ(to, d_inode);

	if (!caller)
		return;
	caller->number = number_of(BPF_CORE_READ(from, d_inode), from);
	caller->offset = replaced ? number_of(replaced, to) : 0;
}

/*
 * Of msync(2), mm/msync.c, the first range of a file's mapping; with MS_ASYNC it does not
 * get here. `last` is that of its bytes.
 */
static __always_inline void msync_kept(struct file *file, __s64 first, __s64 last)
{
	struct caller *caller = caller_in(KEEP_MSYNC);

	if (!caller || caller->number)
		return;
	caller->number = number_of_file(file);
	caller->offset = first;
	caller->bytes = last - first >= 0xffffffff ? 0xffffffff : last - first + 1;
}

#endif
