/* SPDX-License-Identifier: GPL-2.0-only */
/* only.h: choose calls by --pid, --comm, --device and --path; tasks by --waits */
#ifndef ONLY_H
#define ONLY_H

#include "state.h"

#include <bpf/bpf_core_read.h>

#define MOST_ANCESTORS 32
#define INIT 1	/* its parent, and kthreadd's, is the idle task, which is its own */
#define MOST_FOLDERS 64

/* That process, or a descendant of it. */
static __always_inline bool in_family(struct task_struct *task, __s32 pid)
{
	int i;

	for (i = 0; i < MOST_ANCESTORS; i++) {
		__s32 tgid = BPF_CORE_READ(task, tgid);

		if (tgid == pid)
			return true;
		if (tgid <= INIT)
			return false;
		task = BPF_CORE_READ(task, real_parent);
	}
	return false;
}

/* The chosen inode, or one below it, by the names that are in use. */
static __always_inline bool is_below(struct dentry *dentry)
{
	int i;

	for (i = 0; i < MOST_FOLDERS; i++) {
		if (BPF_CORE_READ(dentry, d_inode, i_ino) == only_ino)
			return true;
		dentry = BPF_CORE_READ(dentry, d_parent);
	}
	return false;
}

static __always_inline bool is_called(struct task_struct *task, const volatile char *name)
{
	char comm[COMM_BYTES] = {};
	int i;

	BPF_CORE_READ_STR_INTO(&comm, task, comm);
	for (i = 0; i < COMM_BYTES; i++) {
		if (comm[i] != name[i])
			return false;
		if (!comm[i])
			break;
	}
	return true;
}

/* By the name of the task, or of its process: a JVM's threads have names of their own. */
static __always_inline bool is_name_chosen(struct task_struct *task)
{
	return !is_comm_chosen || is_called(task, only_comm) ||
		is_called(BPF_CORE_READ(task, group_leader), only_comm);
}

/*
 * Is a task's call one of the chosen? The path is what it works on, 0 where that is not
 * known. The name of its process counts as well for a worker of io_uring's, named
 * iou-wrk-TID. Sleeps are never filtered, because a selected call may wait for any task.
 */
static __always_inline bool is_chosen(struct task_struct *task, struct path *path)
{
	if (!is_name_chosen(task))
		return false;
	if (only_dev && BPF_CORE_READ(path, dentry, d_sb, s_dev) != only_dev)
		return false;
	if (only_pid && !in_family(task, only_pid))
		return false;
	return !only_ino || is_below(BPF_CORE_READ(path, dentry));
}

/* Are a task's interruptible sleeps recorded? */
static __always_inline bool is_waits_chosen(struct task_struct *task)
{
	if (waits_pid && in_family(task, waits_pid))
		return own_session != BPF_CORE_READ(task, signal, pids[PIDTYPE_SID],
						    numbers[0].nr);
	return are_waits_by_comm &&
		(is_called(task, waits_comm) ||
		 is_called(BPF_CORE_READ(task, group_leader), waits_comm));
}

#endif
