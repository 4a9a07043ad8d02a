/* SPDX-License-Identifier: GPL-2.0-only */
/* commits.h: time the phases of jbd2's commits, and count handles by cgroup */
#ifndef COMMITS_H
#define COMMITS_H

#include "cgroups.h"

/*
 * All tracepoints of a commit are hit in the thread of its journal (fs/jbd2/commit.c,
 * jbd2_journal_commit_transaction()).
 */
static __always_inline struct commit_row *commit_of_task(void)
{
	__u64 key = bpf_get_current_task();

	return bpf_map_lookup_elem(&commits, &key);
}

static __always_inline bool is_committing(struct task_struct *task)
{
	__u64 key = (__u64)task;

	return bpf_map_lookup_elem(&commits, &key) != 0;
}

static __always_inline void begin_commit(__u32 dev, __u32 transaction)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct commit_row row = { .kind = ROW_COMMIT };
	__u64 key = (__u64)task;

	row.tid = BPF_CORE_READ(task, pid);
	row.pid = BPF_CORE_READ(task, tgid);
	bpf_get_current_comm(row.comm, sizeof(row.comm));
	row.dev = dev;
	row.transaction = transaction;
	row.t_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&commits, &key, &row, BPF_ANY))
		lose(&lost.commits);
}

/* The row of a commit that was not seen to begin has no time: its handles are dropped. */
static __always_inline void end_commit(__u32 dev, __u32 transaction)
{
	struct commit_row unseen = { .kind = ROW_COMMIT, .dev = dev };
	struct commit_row *row = commit_of_task();
	__u64 key = bpf_get_current_task();

	unseen.transaction = transaction;
	if (row)
		row->ended_ns = bpf_ktime_get_ns();
	else
		row = &unseen;
	hand_over(row, sizeof(*row));
	bpf_map_delete_elem(&commits, &key);
}

static __always_inline struct handles *handles_of(const struct handles_key *key)
{
	struct handles *sum = bpf_map_lookup_elem(&handles, key);

	if (sum)
		return sum;
	if (bpf_map_update_elem(&handles, key, &no_handles, BPF_NOEXIST)) {
		/* another CPU's is there since, or there is no room */
		sum = bpf_map_lookup_elem(&handles, key);
		if (!sum)
			lose(&lost.handles);
		return sum;
	}
	return bpf_map_lookup_elem(&handles, key);
}

/*
 * In the task that stops a handle. A block counts once in a transaction, for the handle
 * that modified it first (fs/jbd2/transaction.c, jbd2_journal_dirty_metadata()).
 */
static __always_inline void count_handle(__u32 dev, __u32 transaction, __u32 blocks)
{
	struct handles_key key = { .dev = dev, .transaction = transaction };
	struct handles *sum;

	groups_of((struct task_struct *)bpf_get_current_task(), &key.groups);
	sum = handles_of(&key);
	if (!sum)
		return;
	__sync_fetch_and_add(&sum->count, 1);
	__sync_fetch_and_add(&sum->blocks, blocks);
}

#endif
