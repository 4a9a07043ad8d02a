/* SPDX-License-Identifier: GPL-2.0-only */
/* requests.h: keep AIO's requests of the chosen tasks, for a replay */
#ifndef REQUESTS_H
#define REQUESTS_H

#include "profile.h"

static __always_inline bool is_transfer(__u8 op)
{
	return op == KEEP_READ || op == KEEP_WRITE;
}

/* One that is passed to io_submit(2), in user memory; 0. */
__noinline int submit_request(__u64 at)
{
	struct request_key key = { .at = at };
	struct kept_row row = {};
	struct iocb iocb = {};
	struct file *file;

	bpf_probe_read_user(&iocb, sizeof(iocb), (void *)at);
	row.op = op_of(how_of(CALL_AIO + iocb.aio_lio_opcode));
	if (row.op == KEEP_NOTHING)
		return 0;
	if (!(is_transfer(row.op) ? are_requests_seen : are_syncs_seen)) {
		lose(&unkept.left);
		return 0;
	}
	file = open_file(iocb.aio_fildes);
	row.file = number_of_file(file);
	if (!row.file)
		return 0;
	key.file = (__u64)file;
	row.tid = bpf_get_current_pid_tgid();
	row.offset = is_transfer(row.op) ? iocb.aio_offset : UNKNOWN;
	row.flags = flags_of_file(BPF_CORE_READ(file, f_flags)) | KEPT_ASYNC;
	row.t_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&requests, &key, &row, BPF_ANY))
		lose(&unkept.lost);
	return 0;
}

/* io_submit(2): a context, how many, and where their addresses are. */
static __always_inline void submit_kept(const struct registers *regs)
{
	struct caller *caller = caller_of_task();
	__s64 count = regs->arguments[1];
	__u64 list = regs->arguments[2];

	if (!is_chosen_caller(caller))
		return;
	for (int i = 0; i < MOST_IOCBS && i < count; i++) {
		__u64 at = 0;

		bpf_probe_read_user(&at, sizeof(at), (void *)(list + i * 8));
		submit_request(at);
	}
	if (count > MOST_IOCBS)
		__sync_fetch_and_add(&unkept.left, count - MOST_IOCBS);
}

/*
 * fs/aio.c, aio_complete_rw(): the kiocb is the first member of its struct aio_kiocb; the
 * address of the user's iocb is what io_getevents(2) returns.
 */
static __always_inline void complete_kept(struct kiocb *kiocb, __s64 result)
{
	struct aio_kiocb *request = (void *)kiocb;
	struct request_key key = {};
	struct kept_row row, *known;

	key.at = BPF_CORE_READ(request, ki_res.obj);
	key.file = (__u64)BPF_CORE_READ(kiocb, ki_filp);
	known = bpf_map_lookup_elem(&requests, &key);
	if (!known)
		return;
	row = *known;
	bpf_map_delete_elem(&requests, &key);
	if (result < 0)
		row.flags = KEPT_FAILED;
	else
		row.bytes = result;
	keep(&row);
}

/*
 * fs/aio.c, aio_fsync_work() frees its struct aio_kiocb, whose first member is the struct
 * fsync_iocb; so from here on the request is known by its work. The result is not: it
 * counts as one that did not fail.
 */
static __always_inline void begin_sync(struct work_struct *work)
{
	__u64 at = (__u64)work - bpf_core_field_offset(struct fsync_iocb, work);
	struct request_key key = {}, by_work = { .at = (__u64)work };
	struct kept_row row, *known;

	key.at = BPF_CORE_READ((struct aio_kiocb *)at, ki_res.obj);
	key.file = (__u64)BPF_CORE_READ((struct fsync_iocb *)at, file);
	known = bpf_map_lookup_elem(&requests, &key);
	if (!known)
		return;
	row = *known;
	bpf_map_delete_elem(&requests, &key);
	if (bpf_map_update_elem(&requests, &by_work, &row, BPF_ANY))
		lose(&unkept.lost);
}

static __always_inline void end_sync(struct work_struct *work)
{
	struct request_key key = { .at = (__u64)work };
	struct kept_row row, *known = bpf_map_lookup_elem(&requests, &key);

	if (!known)
		return;
	row = *known;
	bpf_map_delete_elem(&requests, &key);
	keep(&row);
}

#endif
