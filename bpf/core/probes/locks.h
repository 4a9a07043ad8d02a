/* SPDX-License-Identifier: GPL-2.0-only */
/* locks.h: read the lock that a task falls asleep on, and the task that it names */
#ifndef LOCKS_H
#define LOCKS_H

#include "state.h"

#include <bpf/bpf_core_read.h>

#define BLOCKER_BITS 3ULL
#define OWNER_BITS 7ULL

/* In the two lowest bits of a lock's address. */
enum lock_kind { MUTEX, SEMAPHORE, RWSEM_READ, RWSEM_WRITE };

/* Flags of lock:contention_begin, include/trace/events/lock.h. */
#define CONTENDED_READ (1 << 1)
#define CONTENDED_WRITE (1 << 2)
#define CONTENDED_MUTEX (1 << 5)

/*
 * The task is about to wait for a lock. With other flags it spins, or the lock has no
 * owner to read. Nothing may touch a map for a lock that spins: it may be the map's.
 */
static __always_inline void contend(__u64 lock, __u32 flags)
{
	__u64 key = bpf_get_current_task();

	if (flags == CONTENDED_MUTEX)
		lock |= MUTEX;
	else if (flags == CONTENDED_READ)
		lock |= RWSEM_READ;
	else if (flags == CONTENDED_WRITE)
		lock |= RWSEM_WRITE;
	else if (!flags)
		lock |= SEMAPHORE;
	else
		return;
	if (bpf_map_update_elem(&contended, &key, &lock, BPF_ANY))
		lose(&lost.locks);
}

/*
 * It has the lock, or gave up. There are no flags here: a lock that spins is only looked
 * up, which takes no lock.
 */
static __always_inline void obtain(__u64 lock)
{
	__u64 key = bpf_get_current_task();
	__u64 *noted = bpf_map_lookup_elem(&contended, &key);

	if (noted && (*noted & ~BLOCKER_BITS) == lock)
		bpf_map_delete_elem(&contended, &key);
}

/*
 * A kernel with CONFIG_DETECT_HUNG_TASK_BLOCKER stores in task_struct.blocker the lock
 * that the task waits for, told apart by the two lowest bits (include/linux/hung_task.h;
 * since Linux 6.17 for all three). Elsewhere contend() has noted the same, since 5.19.
 */
static __always_inline __u64 blocker_of(struct task_struct *task)
{
	__u64 key = (__u64)task;
	__u64 *noted;

	if (has_lock_owners)
		return BPF_CORE_READ(task, blocker);
	noted = bpf_map_lookup_elem(&contended, &key);
	return noted ? *noted : 0;
}

/*
 * The lowest bits of an owner are flags (kernel/locking/mutex.h, MUTEX_FLAGS;
 * kernel/locking/rwsem.c).
 */
static __always_inline __u64 owner_of(__u64 at, enum lock_kind kind)
{
	if (kind == MUTEX)
		return BPF_CORE_READ((struct mutex *)at, owner.counter);
	if (kind != SEMAPHORE)
		return BPF_CORE_READ((struct rw_semaphore *)at, owner.counter);
	return has_lock_owners ?
		(__u64)BPF_CORE_READ((struct semaphore *)at, last_holder) : 0;
}

/*
 * The memory of a lock stays while a task waits for it; that of a task that is no owner
 * any more may be another's: a reader, or the last holder of a semaphore, is a hint.
 */
static __always_inline void note_lock(struct task_struct *task, struct block_row *row)
{
	struct task_struct *holder;

	row->owner = 0;
	row->holder_tid = UNKNOWN;
	row->blocker = blocker_of(task);
	if (!row->blocker)
		return;
	row->owner = owner_of(row->blocker & ~BLOCKER_BITS, row->blocker & BLOCKER_BITS);
	holder = (void *)(row->owner & ~OWNER_BITS);
	if (holder) {
		row->holder_tid = BPF_CORE_READ(holder, pid);
		BPF_CORE_READ_STR_INTO(&row->holder_comm, holder, comm);
	}
}

#endif
