/* SPDX-License-Identifier: GPL-2.0-only */
/* prerequisites.h: check the prerequisites of BPF; print what is missing and the remedy */
#ifndef PREREQUISITES_H
#define PREREQUISITES_H

#include <stdbool.h>

typedef void report_missing(const char *sentence);

/* A kernel that is too old, has no types or forbids reading, or a process without rights. */
void for_each_missing(report_missing *report);

/* Whether this process has CAP_SYS_ADMIN. */
bool is_admin(void);

#endif
