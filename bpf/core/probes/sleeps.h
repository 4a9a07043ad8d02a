/* SPDX-License-Identifier: GPL-2.0-only */
/* sleeps.h: follow a sleep from sched_switch over sched_waking to sched_switch */
#ifndef SLEEPS_H
#define SLEEPS_H

#include "calls.h"
#include "locks.h"
#include "page_locks.h"

/* linux/sched.h: TASK_UNINTERRUPTIBLE or TASK_RTLOCK_WAIT, not TASK_NOLOAD (idle ones) */
#define STATES_ASLEEP 0x1002
#define TASK_INTERRUPTIBLE 0x1
#define TASK_DEAD 0x80
#define TASK_NOLOAD 0x400

static __always_inline __u32 state_of(struct task_struct *task)
{
	if (bpf_core_field_exists(struct task_struct, __state))
		return BPF_CORE_READ(task, __state);
	return BPF_CORE_READ((struct task_struct___5_13 *)task, state);
}

static __always_inline bool sleeps_in(__u32 state)
{
	return (state & STATES_ASLEEP) && !(state & TASK_NOLOAD);
}

static __always_inline bool are_waits_listed(void)
{
	return script == STALLED_WRITES && (waits_pid || are_waits_by_comm);
}

/* The letter of a sleep that is recorded, or 0. `row` is that of the task's last one. */
static __always_inline __u32 letter_of(struct task_struct *task, __u32 state,
				       const struct block_row *row)
{
	if (sleeps_in(state))
		return 'D';
	if (!are_waits_listed() || !(state & TASK_INTERRUPTIBLE))
		return 0;
	return (row && row->state == 'S') || is_waits_chosen(task) ? 'S' : 0;
}

static __always_inline void note_task(struct task_struct *task, struct block_row *row)
{
	row->tid = BPF_CORE_READ(task, pid);
	row->pid = BPF_CORE_READ(task, tgid);
	BPF_CORE_READ_STR_INTO(&row->comm, task, comm);
}

/* futex(2): the address that it waits for is the first argument. */
static __always_inline __u64 futex_of(struct task_struct *task)
{
	struct registers regs = {};

	read_registers(&regs, registers_at(task));
	return regs.call == futex_call ? regs.arguments[0] : 0;
}

/*
 * Hand over an interruptible sleep that reached the floor, once its task runs and is still
 * in the call in which it slept: its stack in user space, and the arguments, are what they
 * were then. Most such sleeps are shorter, and need neither.
 */
static __always_inline void hand_over_wait(void *ctx, struct task_struct *task,
					   struct block_row *row)
{
	struct scratch *scratch = scratch_of_cpu();
	struct stacks *stacks;
	__u64 at;

	if (!scratch)
		return;
	stacks = &scratch->block.stacks;
	bpf_probe_read_kernel(&scratch->block, __builtin_offsetof(struct block_row, stacks),
			      row);
	scratch->block.futex = futex_of(task);
	take_user(ctx, stacks, WAITING_FRAMES);
	at = frames_before(stacks->user, WAITING_FRAMES);
	bpf_probe_read_kernel(stacks->frames + at, 2 * STACK_FRAMES * 8, row->stacks.frames);
	stacks->kernel = row->stacks.kernel;
	stacks->waker = row->stacks.waker;
	EMIT(&scratch->block);
}

/*
 * The row of a task whose interruptible sleeps are recorded stays: with t_ns 0 between two
 * sleeps, with ran_ns set until hand_over_wait().
 */
static __always_inline struct block_row *row_of_waiter(__u64 key)
{
	return are_waits_listed() ? bpf_map_lookup_elem(&asleep, &key) : 0;
}

static __always_inline void end_wait_in_call(void *ctx, struct task_struct *task,
					     struct block_row *row)
{
	if (row && row->state == 'S' && row->ran_ns) {
		hand_over_wait(ctx, task, row);
		row->ran_ns = 0;
		row->t_ns = 0;
	}
}

static __always_inline void begin_sleep(struct task_struct *task, struct block_row *row,
					__u64 now)
{
	row->stacks.user = 0;
	row->stacks.kernel = 0;
	row->stacks.waker = 0;
	row->woken_ns = 0;
	row->ran_ns = 0;
	note_lock(task, row);
	row->t_ns = now;
}

static __always_inline void fall_asleep(void *ctx, struct task_struct *task, __u32 letter,
					struct block_row *row, __u64 now)
{
	struct scratch *scratch = scratch_of_cpu();
	__u64 key = (__u64)task;

	if (letter == 'S' && row && row->state == 'S') {
		begin_sleep(task, row, now);
		return;
	}
	if (!scratch)
		return;
	row = &scratch->block;
	row->kind = ROW_BLOCK;
	row->state = letter;
	row->futex = 0;
	note_task(task, row);
	begin_sleep(task, row, now);
	if (letter == 'D')
		take_kernel(ctx, &row->stacks);
	if (bpf_map_update_elem(&asleep, &key, row, BPF_ANY))
		lose(&lost.sleeps);
}

/* In the waker, which holds the lock of the task's state: nobody else changes the row. */
static __always_inline void wake(void *ctx, struct task_struct *task)
{
	struct block_row *row;
	struct task_struct *waker;
	__u64 key = (__u64)task;
	__u32 state = state_of(task);
	__s64 now;

	if (!sleeps_in(state) && !(are_waits_listed() && (state & TASK_INTERRUPTIBLE)))
		return;
	row = bpf_map_lookup_elem(&asleep, &key);
	if (!row || !row->t_ns || row->ran_ns)
		return;
	now = bpf_ktime_get_ns();
	row->woken_ns = now;
	if (script == PAGE_LOCKS) {
		note_unlocker(ctx, key, now);
		return;
	}
	if (now - row->t_ns < floor_ns)
		return;
	waker = (void *)bpf_get_current_task();
	row->waker_tid = BPF_CORE_READ(waker, pid);
	BPF_CORE_READ_STR_INTO(&row->waker_comm, waker, comm);
	row->waker_context = context();
	groups_of(waker, &row->waker_groups);
	if (row->state == 'S')
		take_kernel_of(task, &row->stacks);
	take_waker(ctx, &row->stacks);
}

/*
 * The task runs again. A sleep without a recorded waker ended before it began: the waker
 * had passed sched_waking and waited for the run-queue lock under which the task was
 * switched out, or a signal kept the task runnable.
 */
static __always_inline void arrive(struct task_struct *task, __s64 now)
{
	__u64 key = (__u64)task;
	struct block_row *row = bpf_map_lookup_elem(&asleep, &key);
	bool is_long;
	__s64 slept_ns;

	if (!row || !row->t_ns || row->ran_ns)
		return;
	slept_ns = row->woken_ns - row->t_ns;
	is_long = row->woken_ns && slept_ns >= floor_ns;
	if (is_long && script == PAGE_LOCKS) {
		remember(key, row);
	} else if (is_long) {
		row->ran_ns = now;
		groups_of(task, &row->groups);
	}
	if (row->state == 'S') {
		if (is_long)
			note_task(task, row);
		else
			row->t_ns = 0;
		return;
	}
	if (is_long && script != PAGE_LOCKS)
		EMIT(row);
	if (row->woken_ns && script == STALLED_WRITES)
		count_sleep(key, slept_ns, now);
	bpf_map_delete_elem(&asleep, &key);
}

#endif
