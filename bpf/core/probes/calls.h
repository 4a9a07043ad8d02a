/* SPDX-License-Identifier: GPL-2.0-only */
/* calls.h: follow a call from its first sleep to the switch behind its end */
#ifndef CALLS_H
#define CALLS_H

#include "cgroups.h"
#include "extent.h"
#include "only.h"

static __always_inline void count_transfers(struct task_struct *task, struct identity *now)
{
	now->reads = BPF_CORE_READ(task, ioac.syscr);
	now->bytes_read = BPF_CORE_READ(task, ioac.rchar);
	now->writes = BPF_CORE_READ(task, ioac.syscw);
	now->bytes_written = BPF_CORE_READ(task, ioac.wchar);
}

static __always_inline void identify(struct task_struct *task, const struct work *work,
				     const struct registers *regs, struct identity *now)
{
	now->call = work->call;
	now->fd = work->fd;
	now->where = work->where;
	now->request = work->request;
	now->ip = regs->ip;
	now->sp = regs->sp;
	now->arguments = 0;
	if (work->call < CALL_URING)
		now->arguments = regs->arguments[0] + 3 * regs->arguments[1] +
			5 * regs->arguments[2] + 7 * regs->arguments[3];
	count_transfers(task, now);
}

static __always_inline bool is_same(const struct identity *a, const struct identity *b)
{
	return a->call == b->call && a->request == b->request && a->fd == b->fd &&
		a->where == b->where && a->ip == b->ip && a->sp == b->sp &&
		a->arguments == b->arguments && a->reads == b->reads &&
		a->writes == b->writes;
}

/* What vfs_write() added to ioac.wchar or vfs_read() to ioac.rchar, if this call alone did. */
static __always_inline __s64 returned(const struct identity *then,
				      const struct identity *now)
{
	__s64 reads = now->reads - then->reads;
	__s64 writes = now->writes - then->writes;
	__s64 ret = UNKNOWN;

	if (reads + writes == 1)
		ret = reads == 1 ? now->bytes_read - then->bytes_read :
			now->bytes_written - then->bytes_written;
	return ret > 0 ? ret : UNKNOWN;
}

/* The names of a call by path are those in the caller's memory. */
static __always_inline void name_call(struct task_struct *task, const struct work *work,
				      const struct registers *regs, struct write_row *row)
{
	struct path *path = (void *)work->path;
	struct dentry *dentry = BPF_CORE_READ(path, dentry);
	struct vfsmount *mnt = BPF_CORE_READ(path, mnt);
	struct dentry *folder = BPF_CORE_READ(dentry, d_parent);

	if (!work->file && has_argument(work->how, HOW_NAME)) {
		struct file *from = 0;

		if (has_argument(work->how, HOW_FOLDER))
			from = (void *)file_of(task, (__s32)argument(regs, work->how,
								     HOW_FOLDER));
		if (from) {
			folder = BPF_CORE_READ(from, f_path.dentry);
			mnt = BPF_CORE_READ(from, f_path.mnt);
		} else {
			folder = BPF_CORE_READ(task, fs, pwd.dentry);
			mnt = BPF_CORE_READ(task, fs, pwd.mnt);
		}
		if (bpf_probe_read_user_str(row->name, NAME_BYTES,
					    (void *)name_at(regs, work->how)) < 0)
			row->name[0] = 0;
	} else if (bpf_probe_read_kernel_str(row->name, NAME_BYTES,
					     BPF_CORE_READ(dentry, d_name.name)) < 0) {
		row->name[0] = 0;
	}
	name_folder(row->folder, folder, mnt);
}

/* All that is known of a call but its times and stacks. */
static __always_inline void describe_work(struct task_struct *task, const struct work *work,
					  const struct registers *regs,
					  struct write_row *row)
{
	struct path *path = (void *)work->path;

	row->kind = ROW_WRITE;
	row->tid = BPF_CORE_READ(task, pid);
	row->pid = BPF_CORE_READ(task, tgid);
	BPF_CORE_READ_STR_INTO(&row->comm, task, comm);
	row->dev = BPF_CORE_READ(path, dentry, d_sb, s_dev);
	row->ino = BPF_CORE_READ(path, dentry, d_inode, i_ino);
	measure(work, regs, row);
	name_call(task, work, regs, row);
}

static __always_inline void describe_call(void *ctx, struct task_struct *task,
					  const struct work *work,
					  const struct registers *regs,
					  struct write_row *row)
{
	describe_work(task, work, regs, row);
	take_user(ctx, &row->stacks, STACK_FRAMES);
	take_kernel(ctx, &row->stacks);
}

static __always_inline void begin_call(void *ctx, struct task_struct *task, __u64 now,
				       const struct work *work,
				       const struct registers *regs,
				       const struct identity *identity)
{
	struct scratch *scratch = scratch_of_cpu();
	struct write_row *row;
	__u64 key = (__u64)task;

	if (!scratch || !is_chosen(task, (void *)work->path))
		return;
	row = &scratch->write;
	describe_call(ctx, task, work, regs, row);
	row->t_ns = now;
	row->end_ns = now;
	row->slept_ns = 0;
	row->sleeps = 0;
	row->ret = UNKNOWN;
	row->identity = *identity;
	if (bpf_map_update_elem(&calls, &key, row, BPF_ANY))
		lose(&lost.calls);
}

static __always_inline void end_call(__u64 key, struct write_row *row,
				     const struct identity *now)
{
	if (row->sleeps && row->slept_ns >= stall_ns) {
		row->ret = returned(&row->identity, now);
		EMIT(row);
	}
	bpf_map_delete_elem(&calls, &key);
}

static __always_inline void count_sleep(__u64 key, __s64 slept_ns, __s64 now)
{
	struct write_row *row = bpf_map_lookup_elem(&calls, &key);

	if (!row)
		return;
	row->slept_ns += slept_ns;
	row->sleeps++;
	row->end_ns = now;
	groups_of((struct task_struct *)key, &row->groups);
}

#endif
