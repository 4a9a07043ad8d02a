/* SPDX-License-Identifier: GPL-2.0-only */
/* exact.h: time calls from their entry to their return */
#ifndef EXACT_H
#define EXACT_H

#include "calls.h"

static __always_inline void enter_call(__s64 number)
{
	struct begun begun = { .call = number };
	__u64 key = bpf_get_current_task();

	if (!how_of(number))
		return;
	begun.t_ns = bpf_ktime_get_ns();
	if (bpf_map_update_elem(&begun_calls, &key, &begun, BPF_ANY))
		lose(&lost.calls);
}

/*
 * The position has moved by what was written or read: take that back. A pipe has none:
 * below zero, nothing moved.
 */
static __always_inline void move_back(const struct work *work, const struct registers *regs,
				      struct write_row *row)
{
	bool is_given = has_argument(work->how, HOW_OFFSET) &&
		(__s64)argument(regs, work->how, HOW_OFFSET) != UNKNOWN;

	if (!is_given && row->ret > 0)
		row->offset -= row->ret;
	if (row->offset < 0)
		row->offset = UNKNOWN;
}

static __always_inline void print_call(void *ctx, struct task_struct *task,
				       const struct work *work,
				       const struct registers *regs,
				       const struct begun *begun, __s64 now, __s64 ret)
{
	struct scratch *scratch = scratch_of_cpu();
	struct write_row *row;

	if (!scratch)
		return;
	row = &scratch->write;
	describe_call(ctx, task, work, regs, row);
	row->t_ns = begun->t_ns;
	row->end_ns = now;
	row->sleeps = UNKNOWN;
	row->slept_ns = UNKNOWN;
	row->ret = ret;
	row->identity.call = work->call;
	row->identity.fd = work->fd;
	move_back(work, regs, row);
	groups_of(task, &row->groups);
	EMIT(row);
}

static __always_inline void leave_call(void *ctx, __s64 ret)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 key = (__u64)task;
	struct begun *begun = bpf_map_lookup_elem(&begun_calls, &key);
	__s64 now = bpf_ktime_get_ns();
	struct work work = { .fd = UNKNOWN };
	struct registers regs;

	if (!begun)
		return;
	if (now - begun->t_ns >= stall_ns) {
		read_registers(&regs, registers_at(task));
		/* as they were while it ran */
		regs.call = begun->call;
		regs.is_returning = false;
		note_call(task, &regs, &work);
		if (work.file)
			work.path = work.file + bpf_core_field_offset(struct file, f_path);
		if (is_chosen(task, (void *)work.path))
			print_call(ctx, task, &work, &regs, begun, now, ret);
	}
	bpf_map_delete_elem(&begun_calls, &key);
}

#endif
