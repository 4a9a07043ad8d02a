// SPDX-License-Identifier: GPL-2.0-only
/*
 * stalled_writes.bpf.c: find stalled calls of file systems at switches
 *
 * The probes of bpf/stalled_writes.bt, whose header says what they show. One object
 * serves every kernel with BTF since 5.10: the places of members, and which of the
 * alternatives below are loaded, are found when the program starts.
 */
#include "kernel.h"

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#include "rows.h"
#include "state.h"
#include "registers.h"
#include "cgroups.h"
#include "locks.h"
#include "only.h"
#include "paths.h"
#include "files.h"
#include "inflight.h"
#include "extent.h"
#include "calls.h"
#include "sleeps.h"
#include "ios.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline void leave(void *ctx, struct task_struct *task, __u32 state,
				  bool is_asleep, __s64 now)
{
	__u64 key = (__u64)task;
	struct write_row *row = bpf_map_lookup_elem(&calls, &key);
	struct identity identity = {};
	struct registers regs = {};
	struct work work = {};

	if (!row && !is_asleep)
		return;
	read_registers(&regs, registers_at(task));
	find_work(task, &regs, &work);
	identify(task, &work, &regs, &identity);
	if (row && ((state & TASK_DEAD) || !is_same(&row->identity, &identity))) {
		end_call(key, row, &identity);
		row = 0;
	}
	if (is_asleep && !row && work.how)
		begin_call(ctx, task, now, &work, &regs, &identity);
}

static __always_inline void on_switch(void *ctx, bool is_preempted,
				      struct task_struct *prev, struct task_struct *next,
				      __u32 state)
{
	bool is_asleep = !is_preempted && sleeps_in(state);
	__s64 now = bpf_ktime_get_ns();

	if (is_asleep)
		fall_asleep(ctx, prev, now);
	leave(ctx, prev, state, is_asleep, now);
	arrive(next, now);
}

/*
 * prev_state is there since fa2c3254d7cf ("sched/tracing: Don't re-read p->state when
 * emitting sched_switch event"), Linux 5.18. The state read here may be that of a task
 * which is being woken already: such a sleep is over before it begins.
 */
SEC("raw_tp/sched_switch")
int switch_with_state(struct bpf_raw_tracepoint_args *ctx)
{
	on_switch(ctx, ctx->args[0], (void *)ctx->args[1], (void *)ctx->args[2],
		  ctx->args[3]);
	return 0;
}

SEC("raw_tp/sched_switch")
int switch_without_state(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *prev = (void *)ctx->args[1];

	on_switch(ctx, ctx->args[0], prev, (void *)ctx->args[2], state_of(prev));
	return 0;
}

SEC("raw_tp/sched_waking")
int waking(struct bpf_raw_tracepoint_args *ctx)
{
	wake(ctx, (void *)ctx->args[0]);
	return 0;
}

/* 16edd9b511a1 ("locking: Add lock contention tracepoints"), Linux 5.19. */
SEC("raw_tp/contention_begin")
int wait_for_lock(struct bpf_raw_tracepoint_args *ctx)
{
	contend(ctx->args[0], ctx->args[1]);
	return 0;
}

SEC("raw_tp/contention_end")
int end_wait_for_lock(struct bpf_raw_tracepoint_args *ctx)
{
	obtain(ctx->args[0]);
	return 0;
}

/* Run once, in bpf(2), before the others are attached. */
SEC("raw_tp/sys_enter")
int calibrate(void *ctx)
{
	(void)ctx;
	find_registers();
	return 0;
}

/* The first parameter of each of these functions is the bio. */
SEC("fentry/submit_bio")
int submit(__u64 *args)
{
	note_io(args, (void *)args[0]);
	return 0;
}

SEC("fentry/throtl_qnode_add_bio")
int throttle(__u64 *args)
{
	throttle_io((void *)args[0]);
	return 0;
}

SEC("fentry/bio_endio")
int finish(__u64 *args)
{
	end_io((void *)args[0]);
	return 0;
}

/* Where the kernel has no trampolines for BPF: three times the cost. */
SEC("kprobe/submit_bio")
int submit_by_kprobe(struct pt_regs *regs)
{
	note_io(regs, (void *)first_parameter(regs));
	return 0;
}

SEC("kprobe/throtl_qnode_add_bio")
int throttle_by_kprobe(struct pt_regs *regs)
{
	throttle_io((void *)first_parameter(regs));
	return 0;
}

SEC("kprobe/bio_endio")
int finish_by_kprobe(struct pt_regs *regs)
{
	end_io((void *)first_parameter(regs));
	return 0;
}
