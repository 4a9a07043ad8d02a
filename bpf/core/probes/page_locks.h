/* SPDX-License-Identifier: GPL-2.0-only */
/* page_locks.h: follow a wait for a page from its first wake-up to its end */
#ifndef PAGE_LOCKS_H
#define PAGE_LOCKS_H

#include "context.h"
#include "journals.h"
#include "past.h"

/* linux/wait.h */
#define WQ_FLAG_EXCLUSIVE 1
#define WQ_FLAG_WOKEN 2

/* The page and the bit that a task waits for, as the waiter or the waker has them. */
struct page_bit {
	__u64 folio;
	__u64 bit;
};

static __always_inline void read_waiter(struct wait_page_queue *queue, struct page_bit *wait)
{
	struct wait_page_queue___5_15 *old = (void *)queue;

	wait->bit = BPF_CORE_READ(queue, bit_nr);
	if (bpf_core_field_exists(struct wait_page_queue, folio))
		wait->folio = (__u64)BPF_CORE_READ(queue, folio);
	else
		wait->folio = (__u64)BPF_CORE_READ(old, page);
}

static __always_inline void read_waker(struct wait_page_key *key, struct page_bit *wake)
{
	struct wait_page_key___5_15 *old = (void *)key;

	wake->bit = BPF_CORE_READ(key, bit_nr);
	if (bpf_core_field_exists(struct wait_page_key, folio))
		wake->folio = (__u64)BPF_CORE_READ(key, folio);
	else
		wake->folio = (__u64)BPF_CORE_READ(old, page);
}

static __always_inline struct address_space *mapping_of(__u64 folio)
{
	if (bpf_core_field_exists(struct folio, mapping))
		return BPF_CORE_READ((struct folio *)folio, mapping);
	return BPF_CORE_READ((struct page___5_15 *)folio, mapping);
}

static __always_inline unsigned long index_of(__u64 folio)
{
	if (bpf_core_field_exists(struct folio, index))
		return BPF_CORE_READ((struct folio *)folio, index);
	return BPF_CORE_READ((struct page___5_15 *)folio, index);
}

/*
 * The order of a large folio is in its second page (include/linux/mm.h, folio_order();
 * compound_order() before folios). The flags are the first word of a page.
 */
static __always_inline __s64 pages_of(__u64 folio)
{
	__u64 second = folio + bpf_core_type_size(struct page);
	__u32 order;

	if (!(word_at(folio) >> bpf_core_enum_value(enum pageflags, PG_head) & 1))
		return 1;
	if (bpf_core_field_exists(struct folio, _folio_order))
		order = BPF_CORE_READ((struct folio *)folio, _folio_order);
	else if (bpf_core_field_exists(struct folio, _flags_1))
		order = BPF_CORE_READ((struct folio *)folio, _flags_1);
	else
		order = BPF_CORE_READ((struct page___5_15 *)second, compound_order);
	return 1LL << (order & 63);
}

/* The folio of a wait, while its unlocker still holds it: a truncated one has no inode. */
static __always_inline void note_folio(__u64 folio, struct page_lock_row *row)
{
	struct address_space *mapping = mapping_of(folio);
	struct inode *inode = BPF_CORE_READ(mapping, host);

	row->dev = 0;
	row->ino = UNKNOWN;
	row->index = UNKNOWN;
	row->pages = UNKNOWN;
	/* that of a file has no flags in it: PAGE_MAPPING_FLAGS, linux/page-flags.h */
	if (((__u64)mapping & 3) || !inode)
		return;
	row->index = index_of(folio);
	row->pages = pages_of(folio);
	row->has_journal = may_have_journal(inode);
	if ((BPF_CORE_READ(inode, i_mode) & FILE_TYPE) == BLOCK_DEVICE) {
		row->dev = BPF_CORE_READ(inode, i_rdev);
	} else {
		row->dev = BPF_CORE_READ(inode, i_sb, s_dev);
		row->ino = BPF_CORE_READ(inode, i_ino);
	}
}

/* A wait is known from its first wake-up; it began with the sleep that this ended. */
static __always_inline struct page_lock_row *begin_wait(struct task_struct *task,
							__u64 queue)
{
	__u64 key = (__u64)task;
	struct block_row *sleep = bpf_map_lookup_elem(&asleep, &key);
	struct page_lock_row *row;

	if (!sleep)
		return 0;
	if (bpf_map_update_elem(&waits, &key, &no_wait, BPF_ANY)) {
		lose(&lost.waits);
		return 0;
	}
	row = bpf_map_lookup_elem(&waits, &key);
	if (!row)
		return 0;
	row->kind = ROW_PAGE_LOCK;
	row->tid = sleep->tid;
	row->pid = sleep->pid;
	__builtin_memcpy(row->comm, sleep->comm, sizeof(row->comm));
	row->queue = queue;
	row->t_ns = sleep->t_ns;
	row->stacks.kernel = sleep->stacks.kernel;
	bpf_probe_read_kernel(row->stacks.frames, STACK_FRAMES * 8, sleep->stacks.frames);
	return row;
}

/*
 * The unlocker calls wake_page_function() for each waiter on the queue, and it wakes those
 * that wait for this page (mm/filemap.c; kernel/sched/wait.c, __wake_up_common()). The
 * queue's lock is held and interrupts are off.
 */
static __always_inline void unlock_page(struct wait_queue_entry *entry,
					struct wait_page_key *key)
{
	__u64 queue = (__u64)entry - bpf_core_field_offset(struct wait_page_queue, wait);
	struct task_struct *task = BPF_CORE_READ(entry, private);
	__u64 task_key = (__u64)task;
	struct page_lock_row *row;
	struct page_bit wait = {}, wake = {};
	bool is_writeback;

	read_waiter((void *)queue, &wait);
	read_waker(key, &wake);
	if (wait.folio != wake.folio || wait.bit != wake.bit)
		return;
	is_writeback = wait.bit == bpf_core_enum_value(enum pageflags, PG_writeback);
	if (!is_writeback && wait.bit != bpf_core_enum_value(enum pageflags, PG_locked))
		return;
	row = bpf_map_lookup_elem(&waits, &task_key);
	if (!row || row->queue != queue)
		row = begin_wait(task, queue);
	if (!row)
		return;
	row->is_writeback = is_writeback;
	note_folio(wait.folio, row);
}

/* In the waker of a task that waits for a page; the last wake-up counts. */
static __always_inline void note_unlocker(void *ctx, __u64 key, __s64 now)
{
	struct page_lock_row *row = bpf_map_lookup_elem(&waits, &key);
	struct task_struct *waker = (void *)bpf_get_current_task();

	if (!row)
		return;
	row->ended_ns = now;
	row->waker_tid = BPF_CORE_READ(waker, pid);
	BPF_CORE_READ_STR_INTO(&row->waker_comm, waker, comm);
	row->waker_context = context();
	if (row->waker_context == IN_TASK)
		recall((__u64)waker, row->t_ns, now, &row->slept);
	else
		know_nothing(&row->slept);
	take_waker(ctx, &row->stacks);
}

/*
 * Whether the wait got its bit, rather than being ended by a fatal signal (mm/filemap.c,
 * folio_wait_bit_common()).
 */
static __always_inline bool is_granted(__u32 flags)
{
	return flags & (flags & WQ_FLAG_EXCLUSIVE ? wait_done : WQ_FLAG_WOKEN);
}

/*
 * Each wait ends in finish_wait(). Not fentry: such a program can be preempted, and until
 * it goes on, the kernel skips it for all other tasks on that CPU
 * (kernel/bpf/trampoline.c, __bpf_prog_enter_recur()).
 */
static __always_inline void end_wait(struct wait_queue_entry *entry)
{
	__u64 queue = (__u64)entry - bpf_core_field_offset(struct wait_page_queue, wait);
	__u64 key = bpf_get_current_task();
	struct page_lock_row *row = bpf_map_lookup_elem(&waits, &key);

	if (!row)
		return;
	if (row->queue == queue && is_granted(BPF_CORE_READ(entry, flags)) &&
	    row->ended_ns - row->t_ns >= floor_ns) {
		if (row->has_journal) {
			state_at(row->dev, row->t_ns, &row->begun);
			state_at(row->dev, row->ended_ns, &row->ended);
		}
		EMIT(row);
	}
	bpf_map_delete_elem(&waits, &key);
}

#endif
