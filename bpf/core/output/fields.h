/* SPDX-License-Identifier: GPL-2.0-only */
/* fields.h: print what several events have: stacks, cgroups, devices, contexts */
#ifndef FIELDS_H
#define FIELDS_H

#include <stdbool.h>

#include "rows.h"

bool begins_with(const char *text, const char *head);

void print_kernel_stack(const char *name, const unsigned long long *frames,
			unsigned int count);
void print_user_stack(const char *name, const unsigned long long *frames,
		      unsigned int count);
void print_groups(const char *name, const char *name_v1, const struct groups *groups);
void print_device(unsigned int dev);
void print_context(const char *name, int context);

#endif
