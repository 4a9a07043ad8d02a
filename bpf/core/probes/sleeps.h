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

/* The letter of a sleep that is recorded, or 0. */
static __always_inline __u32 letter_of(struct task_struct *task, __u32 state)
{
	if (sleeps_in(state))
		return 'D';
	if (are_waits_listed() && (state & TASK_INTERRUPTIBLE) && is_waits_chosen(task))
		return 'S';
	return 0;
}

/* futex(2): the address that it waits for is the first argument. */
static __always_inline __u64 futex_of(struct task_struct *task)
{
	struct registers regs = {};

	read_registers(&regs, registers_at(task));
	return regs.call == futex_call ? regs.arguments[0] : 0;
}

/*
 * Most interruptible sleeps are short. Their stacks in the kernel are taken when they have
 * reached the floor; the user's can only be had of the task that runs.
 */
static __always_inline void fall_asleep(void *ctx, struct task_struct *task, __u32 letter,
					__u64 now)
{
	struct scratch *scratch = scratch_of_cpu();
	struct block_row *row;
	__u64 key = (__u64)task;

	if (!scratch)
		return;
	row = &scratch->block;
	row->kind = ROW_BLOCK;
	row->state = letter;
	row->futex = letter == 'S' ? futex_of(task) : 0;
	row->tid = BPF_CORE_READ(task, pid);
	row->pid = BPF_CORE_READ(task, tgid);
	BPF_CORE_READ_STR_INTO(&row->comm, task, comm);
	row->t_ns = now;
	row->woken_ns = 0;
	note_lock(task, row);
	if (letter == 'S') {
		take_user(ctx, &row->stacks, WAITING_FRAMES);
	} else {
		row->stacks.user = 0;
		take_kernel(ctx, &row->stacks);
	}
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
	if (!row)
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
	__s64 slept_ns;

	if (!row)
		return;
	if (row->woken_ns) {
		slept_ns = row->woken_ns - row->t_ns;
		if (slept_ns >= floor_ns && script == PAGE_LOCKS) {
			remember(key, row);
		} else if (slept_ns >= floor_ns) {
			row->ran_ns = now;
			groups_of(task, &row->groups);
			EMIT(row);
		}
		if (script == STALLED_WRITES && row->state == 'D')
			count_sleep(key, slept_ns, now);
	}
	bpf_map_delete_elem(&asleep, &key);
}

#endif
