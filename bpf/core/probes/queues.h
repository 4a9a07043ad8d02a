/* SPDX-License-Identifier: GPL-2.0-only */
/* queues.h: count the bios in flight on each device, and see how far they lie apart */
#ifndef QUEUES_H
#define QUEUES_H

#include "state.h"

#define SECTOR_SHIFT 9
#define REQ_OP_WRITE 1	/* linux/blk_types.h; a read is 0 */

static __always_inline struct queue *queue_of(__u32 dev)
{
	struct queue *queue = bpf_map_lookup_elem(&queues, &dev);

	if (queue)
		return queue;
	if (bpf_map_update_elem(&queues, &dev, &no_queue, BPF_NOEXIST)) {
		/* another CPU has made it meanwhile; or there is no room */
		queue = bpf_map_lookup_elem(&queues, &dev);
		if (!queue)
			lose(&lost.queues);
		return queue;
	}
	return bpf_map_lookup_elem(&queues, &dev);
}

/* A flush has no place; a discard, and zeroes, have no data that a disk's head goes to. */
static __always_inline void note_gap(struct queue *queue, struct io *io)
{
	__u64 *next = &queue->next[io->op & REQ_OP_WRITE];
	__u64 last = *next;

	if (io->op > REQ_OP_WRITE || !io->bytes)
		return;
	*next = io->sector + (io->bytes >> SECTOR_SHIFT);
	io->has_gap = last != 0;
	io->gap = io->sector - last;
}

/*
 * As a bio is noted, so that it is counted exactly as long as its entry is there: not one
 * that was submitted before tracing began, and one whose end was not seen until its memory
 * is used again. A bio is counted once, however it is split below.
 */
static __always_inline void enter_queue(struct io *io)
{
	struct queue *queue = queue_of(io->dev);

	if (!queue)
		return;
	__sync_fetch_and_add(&queue->in_flight, 1);
	/* its result has no older kernel than Linux 5.12 */
	io->depth = *(volatile __u64 *)&queue->in_flight;
	note_gap(queue, io);
}

static __always_inline void leave_queue(const struct io *io)
{
	struct queue *queue;

	if (!io->depth)
		return;
	queue = bpf_map_lookup_elem(&queues, &io->dev);
	if (queue)
		__sync_fetch_and_add(&queue->in_flight, -1);
}

#endif
