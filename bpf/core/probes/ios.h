/* SPDX-License-Identifier: GPL-2.0-only */
/* ios.h: find who submitted each slow I/O */
#ifndef IOS_H
#define IOS_H

#include "cgroups.h"
#include "inflight.h"
#include "queues.h"

#define REQ_OP_MASK 0xff	/* linux/blk_types.h */
#define REQ_OP_FLUSH 2
#define MOST_WHOLES 4	/* of a part, one in the other */

/* Before Linux 5.12 a bio has a disk and a number of a partition, 0 for the disk. */
static __always_inline __u32 device_of(struct bio *bio)
{
	struct bio___5_11 *old = (void *)bio;
	struct disk_part_tbl___5_11 *table;
	__u64 at;

	if (bpf_core_field_exists(struct bio, bi_bdev))
		return BPF_CORE_READ(bio, bi_bdev, bd_dev);
	table = BPF_CORE_READ(old, bi_disk, part_tbl);
	at = (__u64)table + bpf_core_field_offset(struct disk_part_tbl___5_11, part) +
		8 * BPF_CORE_READ(old, bi_partno);
	return BPF_CORE_READ((struct hd_struct___5_11 *)word_at(at), __dev.devt);
}

/* A worker's name says nothing of its work: its stack does. */
static __always_inline void note_submitter(void *ctx, __u64 key)
{
	struct stacks *stacks;

	if (bpf_map_update_elem(&submitters, &key, &no_stacks, BPF_ANY)) {
		lose(&lost.submitters);
		return;
	}
	stacks = bpf_map_lookup_elem(&submitters, &key);
	if (stacks)
		take_kernel(ctx, stacks);
}

/* By the other probe of submit_bio(). */
static __always_inline bool is_noted(const struct io *noted, const struct io *io)
{
	return has_two_probes && noted && noted->tid == io->tid &&
		noted->sector == io->sector && noted->bytes == io->bytes;
}

#define OPF_BIT(OPF, NAME) \
	((OPF) >> bpf_core_enum_value(enum req_flag_bits, __REQ_##NAME) & 1)

static __always_inline __u32 flags_of(__u32 opf)
{
	return OPF_BIT(opf, PREFLUSH) * IO_PREFLUSH | OPF_BIT(opf, FUA) * IO_FUA |
		OPF_BIT(opf, META) * IO_META;
}

static __always_inline void note_io(void *ctx, struct bio *bio)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 opf = BPF_CORE_READ(bio, bi_opf);
	__u64 key = (__u64)bio;
	struct io io = {}, *noted;

	io.tid = BPF_CORE_READ(task, pid);
	io.pid = BPF_CORE_READ(task, tgid);
	bpf_get_current_comm(io.comm, sizeof(io.comm));
	io.dev = device_of(bio);
	io.bytes = BPF_CORE_READ(bio, bi_iter.bi_size);
	io.sector = BPF_CORE_READ(bio, bi_iter.bi_sector);
	io.op = opf & REQ_OP_MASK;
	io.flags = flags_of(opf);
	if (!io.bytes && (io.flags & IO_PREFLUSH))
		io.op = REQ_OP_FLUSH;
	io.is_worker = !!(BPF_CORE_READ(task, flags) & PF_WQ_WORKER);
	io.t_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&ios, &key, &io, BPF_NOEXIST)) {
		noted = bpf_map_lookup_elem(&ios, &key);
		if (is_noted(noted, &io))
			return;
		/* an earlier bio of this address, whose end was not seen; or full */
		if (noted)
			leave_queue(noted);
		bpf_map_delete_elem(&submitters, &key);
		if (bpf_map_update_elem(&ios, &key, &io, BPF_ANY)) {
			lose(&lost.ios);
			return;
		}
	}
	noted = series_ns ? bpf_map_lookup_elem(&ios, &key) : 0;
	if (noted)
		enter_queue(noted);
	if (io.is_worker)
		note_submitter(ctx, key);
}

/*
 * A bio that waits for the limits of its cgroup (io.max) is moved from queue to queue
 * (block/blk-throttle.c): from the cgroup's own, when it is submitted, to that of what may
 * go down now. Bios without a limit never come there.
 */
static __always_inline void throttle_io(struct bio *bio)
{
	__u64 key = (__u64)bio;
	struct io *io = bpf_map_lookup_elem(&ios, &key);

	if (!io)
		return;
	io->issued_ns = bpf_ktime_get_ns();
	if (!io->queued_ns)
		io->queued_ns = io->issued_ns;
}

/*
 * Whether this bio_endio() is the last one: a bio that was split, or has others chained to
 * it, counts those of its parts (block/bio.c, bio_remaining_done()). BIO_CHAIN is a bit of
 * bi_flags.
 */
static __always_inline bool is_last(struct bio *bio, bool if_alone)
{
	if (!(BPF_CORE_READ(bio, bi_flags) >> bio_chain_bit & 1))
		return if_alone;
	return BPF_CORE_READ(bio, __bi_remaining.counter) == 1;
}

static __always_inline void print_io(struct bio *bio, const struct io *io, __s64 now)
{
	struct io_row *row = bpf_ringbuf_reserve(&rows, sizeof(*row), 0);
	__u64 key = (__u64)bio;
	struct stacks *stacks = 0;

	if (!row) {
		lose(&lost.rows);
		return;
	}
	row->kind = ROW_IO;
	row->tid = io->tid;
	row->pid = io->pid;
	row->dev = io->dev;
	__builtin_memcpy(row->comm, io->comm, sizeof(row->comm));
	row->is_worker = io->is_worker;
	row->op = io->op;
	row->flags = io->flags;
	row->depth = io->depth;
	row->has_gap = io->has_gap;
	row->unused = 0;
	row->gap = io->gap;
	row->t_ns = io->t_ns;
	row->queued_ns = io->queued_ns;
	row->issued_ns = io->issued_ns;
	row->ended_ns = now;
	row->sector = io->sector;
	row->bytes = io->bytes;
	groups_of_bio(bio, &row->groups);
	row->stacks.user = 0;
	row->stacks.kernel = 0;
	row->stacks.waker = 0;
	if (io->is_worker)
		stacks = bpf_map_lookup_elem(&submitters, &key);
	if (stacks)
		bpf_probe_read_kernel(&row->stacks, sizeof(*stacks), stacks);
	bpf_ringbuf_submit(row, 0);
}

/* That of 2 below a number, 0 for 0. */
static __always_inline __u32 power_of(__u64 number)
{
	__u32 power = 0;

	power += (number >> power >> 32 ? 1 : 0) << 5;
	power += (number >> power >> 16 ? 1 : 0) << 4;
	power += (number >> power >> 8 ? 1 : 0) << 3;
	power += (number >> power >> 4 ? 1 : 0) << 2;
	power += (number >> power >> 2 ? 1 : 0) << 1;
	power += number >> power >> 1 ? 1 : 0;
	return power;
}

static __always_inline __u32 bucket_of(__u64 ns)
{
	__u32 power, at;

	if (ns >> LEAST_POWER == 0)
		return 0;
	power = power_of(ns);
	at = ((power - LEAST_POWER) << BUCKET_BITS) +
		(ns >> (power - BUCKET_BITS) & ((1 << BUCKET_BITS) - 1));
	return at < BUCKETS ? at : BUCKETS - 1;
}

static __always_inline struct ios_row *window_of(const struct ios_key *key)
{
	struct ios_row *row = bpf_map_lookup_elem(&series, key);

	if (row)
		return row;
	if (bpf_map_update_elem(&series, key, &no_ios, BPF_NOEXIST)) {
		/* another CPU has made it meanwhile; or there is no room */
		row = bpf_map_lookup_elem(&series, key);
		if (!row)
			lose(&lost.windows);
		return row;
	}
	return bpf_map_lookup_elem(&series, key);
}

static __always_inline void count_depth(struct ios_row *row, __u32 depth, __u64 ns)
{
	__u32 at = power_of(depth);

	if (!depth)
		return;
	if (at >= DEPTHS)
		at = DEPTHS - 1;
	__sync_fetch_and_add(&row->depth_ns[at], ns);
	__sync_fetch_and_add(&row->depths[at], 1);
}

static __always_inline void count_gap(struct ios_row *row, const struct io *io)
{
	__u64 sectors = io->gap < 0 ? -io->gap : io->gap;
	__u32 at = sectors ? 1 + power_of(sectors) / GAP_BITS : 0;

	if (!io->has_gap)
		return;
	if (at >= GAPS)
		at = GAPS - 1;
	__sync_fetch_and_add(&row->gaps[at], 1);
}

/*
 * In the window of its end, so that no window changes once it is over: the program prints
 * and deletes it then. The time under the limits of a cgroup is no time of the disk's.
 */
static __always_inline void count_io(const struct io *io, __s64 now)
{
	struct ios_key key = { io->dev, io->op, io->flags, 0, (__u64)now / series_ns };
	__u64 ns = now - (io->issued_ns ? io->issued_ns : io->t_ns);
	struct ios_row *row = window_of(&key);
	__u32 bucket = bucket_of(ns);

	if (!row)
		return;
	__sync_fetch_and_add(&row->bytes, io->bytes);
	count_depth(row, io->depth, ns);
	count_gap(row, io);
	if (bucket < BUCKETS)
		__sync_fetch_and_add(&row->counts[bucket], 1);
}

static __always_inline void forget_io(struct bio *bio, struct io *io)
{
	__u64 key = (__u64)bio;
	__s64 now = bpf_ktime_get_ns();

	leave_queue(io);
	if (now - io->t_ns >= io_ns)
		print_io(bio, io, now);
	else if (series_ns)
		count_io(io, now);
	if (io->is_worker)
		bpf_map_delete_elem(&submitters, &key);
	bpf_map_delete_elem(&ios, &key);
}

/*
 * A part's end may be its whole's, without another call (bio_chain_endio()); the whole is
 * the part's bi_private then. A part that was submitted by itself is noted, too, as of
 * bio_chain_and_submit() (block/blk-lib.c); where all bios are counted, its whole is looked
 * for besides. An entry whose bio ended unseen is overwritten with the next use of the bio's
 * memory.
 */
static __always_inline void end_io(struct bio *bio)
{
	bool is_part = false;

	for (int i = 0; i < MOST_WHOLES; i++) {
		__u64 key = (__u64)bio;
		struct io *io = bpf_map_lookup_elem(&ios, &key);

		if (io ? !is_last(bio, !is_part) : i)
			return;
		if (io) {
			forget_io(bio, io);
			if (!series_ns)
				return;
			is_part = true;
		}
		bio = BPF_CORE_READ(bio, bi_private);
	}
}

#endif
