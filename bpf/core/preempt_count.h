/* SPDX-License-Identifier: GPL-2.0-only */
/* preempt_count.h: find the count that distinguishes an interrupt from a task */
#ifndef PREEMPT_COUNT_H
#define PREEMPT_COUNT_H

struct btf;
struct probes;

/* Before the probes are loaded; the BTF is that of the kernel. */
void find_preempt_count(struct probes *probes, const struct btf *btf);

/* Exits where the kernel does not say where its variables are, if they are needed. */
void check_kernel_variables(void);

#endif
