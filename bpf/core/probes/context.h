/* SPDX-License-Identifier: GPL-2.0-only */
/* context.h: check whether a probe was hit in a task or in an interrupt */
#ifndef CONTEXT_H
#define CONTEXT_H

#include "paths.h"

/* linux/preempt.h */
#define NMI_MASK 0xf00000
#define NMI_OFFSET 0x100000
#define HARDIRQ_MASK 0xf0000
#define HARDIRQ_OFFSET 0x10000
#define SOFTIRQ_OFFSET 0x100

/*
 * pcpu_hot or __preempt_count, this CPU's. libbpf could find a variable by its name, but
 * where one of the two is missing it searches all modules, which needs CAP_SYS_ADMIN.
 */
static __always_inline __u64 variable_of_cpu(void)
{
	void *variable;

	if (!has_typed_count)
		return preempt_count_at +
			word_at(per_cpu_offsets_at + 8ULL * bpf_get_smp_processor_id());
	asm volatile("%0 = %1 ll" : "=r"(variable) : "i"(VARIABLE_TO_SET));
	return (__u64)bpf_this_cpu_ptr(variable);
}

static __always_inline __u32 preempt_count(void)
{
#if defined(__TARGET_ARCH_x86)
	__u64 at = variable_of_cpu();
	__u32 count = 0;

	if (bpf_core_type_exists(struct pcpu_hot))
		at += bpf_core_field_offset(struct pcpu_hot, preempt_count);
	bpf_probe_read_kernel(&count, sizeof(count), (void *)at);
	return count;
#else
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, thread_info.preempt_count);
#endif
}

static __always_inline int context(void)
{
	__u32 count = preempt_count();

	if (count & NMI_MASK)
		return IN_NMI;
	if (count & HARDIRQ_MASK)
		return IN_HARDIRQ;
	return count & SOFTIRQ_OFFSET ? IN_SOFTIRQ : IN_TASK;
}

#endif
