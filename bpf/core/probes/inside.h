/* SPDX-License-Identifier: GPL-2.0-only */
/* inside.h: time functions inside the slow calls of the root, the first of --functions */
#ifndef INSIDE_H
#define INSIDE_H

#include "calls.h"
#include "context.h"

#define ROOT 0

static __always_inline bool is_inside(__u64 key)
{
	return bpf_map_lookup_elem(&drilled, &key);
}

static __always_inline struct inside *begin_inside(struct task_struct *task, __u64 sp)
{
	__u64 key = (__u64)task;
	struct inside *inside;

	if (!is_name_chosen(task) || (only_pid && !in_family(task, only_pid)))
		return 0;
	if (bpf_map_update_elem(&drilled, &key, &no_inside, BPF_ANY))
		lose(&lost.drilled);
	inside = bpf_map_lookup_elem(&drilled, &key);
	if (inside)
		inside->sp = sp;
	return inside;
}

/* The tree of the task's call. A root that begins no deeper than the last one is another. */
static __always_inline struct inside *inside_of(struct task_struct *task, __u64 function,
						__u64 sp)
{
	__u64 key = (__u64)task;
	struct inside *inside = bpf_map_lookup_elem(&drilled, &key);

	if (function != ROOT)
		return inside;
	if (inside && sp >= inside->sp) {
		lose(&lost.returns);
		inside = 0;
	}
	return inside ? inside : begin_inside(task, sp);
}

/* The node of a function that the current one calls; 0: no room. */
static __always_inline struct node *node_below(struct inside *inside, __u64 function)
{
	__u32 parent = inside->at, i;

	for (i = 0; i < MOST_NODES; i++) {
		struct node *node = &inside->nodes[i];

		if (i >= inside->count) {
			node->function = function;
			node->parent = parent;
			node->unnoted = 0;
			node->calls = 0;
			node->sum_ns = 0;
			inside->count = i + 1;
		} else if (node->parent != parent || node->function != function) {
			continue;
		}
		inside->at = i;
		return node;
	}
	return 0;
}

/* The node of the innermost visit to a function under way, or NO_NODE. */
static __always_inline __u32 visited(struct inside *inside, __u64 function)
{
	__u32 at = inside->at, i;

	for (i = 0; i < MOST_NODES && at < MOST_NODES; i++) {
		if (inside->nodes[at].function == function)
			return at;
		at = inside->nodes[at].parent;
	}
	return NO_NODE;
}

/*
 * What an interrupt calls is no part of the task's call. On x86 a kprobe that traps counts as
 * an NMI inside an interrupt (kernel/entry/common.c, irqentry_nmi_enter();
 * include/linux/hardirq.h, __nmi_enter()); one that ftrace calls does not change the count.
 */
static __always_inline bool is_tasks_own(void)
{
	__u32 count = preempt_count();

	if (count & NMI_MASK)
		count -= NMI_OFFSET + HARDIRQ_OFFSET;
	return !(count & (NMI_MASK | HARDIRQ_MASK | SOFTIRQ_OFFSET));
}

static __always_inline void enter_function(struct pt_regs *regs, __u64 function)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct inside *inside;
	struct node *node;
	__u32 outer;

	if (!is_tasks_own())
		return;
	inside = inside_of(task, function, BPF_CORE_READ(regs, sp));
	if (!inside)
		return;
	node = node_below(inside, function);
	if (node) {
		node->begun_ns = bpf_ktime_get_ns();
		return;
	}
	inside->left_out++;
	outer = visited(inside, function);
	if (outer < MOST_NODES)
		inside->nodes[outer].unnoted++;
}

static __always_inline void describe_inside(struct task_struct *task, struct write_row *row)
{
	struct registers regs = {};
	struct work work = {};

	read_registers(&regs, registers_at(task));
	find_work(task, &regs, &work);
	row->identity.call = work.call;
	row->identity.fd = work.fd;
	describe_work(task, &work, &regs, row);
}

static __always_inline void hand_over_inside(struct task_struct *task, struct inside *inside,
					     __s64 now, __s64 ret)
{
	struct scratch *scratch = scratch_of_cpu();
	struct inside_row *row;

	if (!scratch)
		return;
	row = &scratch->inside;
	row->kind = ROW_INSIDE;
	bpf_probe_read_kernel(&row->inside, sizeof(row->inside), inside);
	describe_inside(task, &row->call);
	row->call.t_ns = inside->nodes[ROOT].begun_ns;
	row->call.end_ns = now;
	row->call.ret = ret;
	hand_over(row, __builtin_offsetof(struct inside_row, call.stacks));
}

/*
 * The returns of functions that a task is still in, below this one, were not seen: the
 * kernel had no room for their probes (include/linux/kprobes.h, nmissed).
 */
static __always_inline void leave_function(__u64 function, __s64 ret)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 key = (__u64)task;
	struct inside *inside;
	struct node *node;
	__s64 now;
	__u32 at;

	if (!is_tasks_own())
		return;
	inside = bpf_map_lookup_elem(&drilled, &key);
	if (!inside)
		return;
	at = visited(inside, function);
	if (at >= MOST_NODES)
		return;
	node = &inside->nodes[at];
	if (node->unnoted) {
		node->unnoted--;
		return;
	}
	if (at != inside->at)
		lose(&lost.returns);
	now = bpf_ktime_get_ns();
	node->calls++;
	node->sum_ns += now - node->begun_ns;
	inside->at = node->parent;
	if (node->parent != NO_NODE)
		return;
	if (now - node->begun_ns >= stall_ns)
		hand_over_inside(task, inside, now, ret);
	bpf_map_delete_elem(&drilled, &key);
}

#endif
