/* SPDX-License-Identifier: GPL-2.0-only */
/* locks.h: read the lock that a task falls asleep on, and the task that it names */
#ifndef LOCKS_H
#define LOCKS_H

#define BLOCKER_BITS 3ULL	/* mutex, semaphore, read and write of an rwsem */
#define OWNER_BITS 7ULL

/*
 * A kernel with CONFIG_DETECT_HUNG_TASK_BLOCKER stores in task_struct.blocker the lock
 * that the task waits for, told apart by the two lowest bits (include/linux/hung_task.h;
 * since Linux 6.17 for all three). The lowest bits of an owner are flags
 * (kernel/locking/mutex.h, MUTEX_FLAGS; kernel/locking/rwsem.c). The memory of a lock
 * stays while a task waits for it; that of a task that is no owner any more may be
 * another's: a reader, or the last holder of a semaphore, is a hint.
 */
static __always_inline void note_lock(struct task_struct *task, struct block_row *row)
{
	struct task_struct *holder;
	__u64 at;

	row->blocker = 0;
	row->owner = 0;
	row->holder_tid = UNKNOWN;
	if (!has_lock_owners)
		return;
	row->blocker = BPF_CORE_READ(task, blocker);
	at = row->blocker & ~BLOCKER_BITS;
	if (!at)
		return;
	if ((row->blocker & BLOCKER_BITS) == 0)
		row->owner = BPF_CORE_READ((struct mutex *)at, owner.counter);
	else if ((row->blocker & BLOCKER_BITS) == 1)
		row->owner = BPF_CORE_READ((struct semaphore *)at, last_holder);
	else
		row->owner = BPF_CORE_READ((struct rw_semaphore *)at, owner.counter);
	holder = (void *)(row->owner & ~OWNER_BITS);
	if (holder) {
		row->holder_tid = BPF_CORE_READ(holder, pid);
		BPF_CORE_READ_STR_INTO(&row->holder_comm, holder, comm);
	}
}

#endif
