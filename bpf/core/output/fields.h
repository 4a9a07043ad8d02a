/* SPDX-License-Identifier: GPL-2.0-only */
/* fields.h: print what several events have: times, tasks, stacks, cgroups, devices, contexts */
#ifndef FIELDS_H
#define FIELDS_H

#include <stdbool.h>

#include "rows.h"

bool begins_with(const char *text, const char *head);

/* Begin an event of an interval; both times in ns since boot. */
void begin_span(const char *name, long long t_ns, long long ended_ns);
void print_task(int tid, int pid, const char *comm);

void print_kernel_stack(const char *name, const unsigned long long *frames,
			unsigned int count);
/* `kstack`, `waker_kstack` and `ustack` */
void print_stack_of_kernel(const struct stacks *stacks);
void print_stack_of_waker(const struct stacks *stacks);
void print_stack_of_user(const struct stacks *stacks);
void print_groups(const char *name, const char *name_v1, const struct groups *groups);
void print_device(unsigned int dev);
void print_context(const char *name, int context);

#endif
