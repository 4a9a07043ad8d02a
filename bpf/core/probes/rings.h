/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * rings.h: keep io_uring's requests of the chosen tasks, for a replay
 *
 * From their submission to their completion, by whatever task: io_uring/io_uring.c,
 * io_submit_sqe() and io_req_complete_post(), __io_submit_flush_completions().
 */
#ifndef RINGS_H
#define RINGS_H

#include "requests.h"

#define REQ_F_CQE_SKIP 0x40		/* linux/io_uring_types.h */
#define IORING_FSYNC_DATASYNC 1		/* linux/io_uring.h */

/* A request's own data are where its file is; io_uring/sync.c, io_fsync_prep(). */
static __always_inline bool is_datasync(struct io_kiocb *req)
{
	return BPF_CORE_READ((struct io_sync *)req, flags) & IORING_FSYNC_DATASYNC;
}

static __always_inline void submit_to_ring(struct io_kiocb *req)
{
	enum keep op = op_of(how_of(CALL_URING + BPF_CORE_READ(req, opcode)));
	struct request_key key = { .at = (__u64)req };
	__u64 flags = BPF_CORE_READ(req, flags);
	struct caller *caller;
	struct kept_row row = {};

	if (op == KEEP_NOTHING)
		return;
	caller = caller_of_task();
	if (!is_chosen_caller(caller))
		return;
	if (op == KEEP_LEFT || (flags & REQ_F_CQE_SKIP)) {	/* no completion */
		lose(&unkept.left);
		return;
	}
	row.op = op == KEEP_FSYNC && is_datasync(req) ? KEEP_FDATASYNC : op;
	if (!(flags & REQ_F_FIXED_FILE)) {	/* else it is found later */
		row.file = number_of_file(open_file(BPF_CORE_READ(req, cqe.fd)));
		if (!row.file)
			return;
	}
	row.tid = caller->tid;
	row.flags = KEPT_ASYNC | KEPT_RING;
	row.t_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&requests, &key, &row, BPF_ANY))
		lose(&unkept.lost);
}

/* What a request has moved is behind it: ki_pos, of the file's position and its end, too. */
static __always_inline void complete_in_ring(struct io_kiocb *req)
{
	struct request_key key = { .at = (__u64)req };
	struct kept_row row, *known = bpf_map_lookup_elem(&requests, &key);
	__s32 result = BPF_CORE_READ(req, cqe.res);
	struct file *file;

	if (!known)
		return;
	row = *known;
	bpf_map_delete_elem(&requests, &key);
	file = BPF_CORE_READ(req, file);
	if (!row.file)
		row.file = number_of_file(file);
	if (!row.file)
		return;
	row.flags |= flags_of_file(BPF_CORE_READ(file, f_flags));
	row.offset = UNKNOWN;
	if (result < 0) {
		row.flags = KEPT_FAILED;
	} else if (is_transfer(row.op)) {
		row.bytes = result;
		row.offset = BPF_CORE_READ((struct io_rw *)req, kiocb.ki_pos) - result;
	}
	keep(&row);
}

#endif
