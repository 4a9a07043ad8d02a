/* SPDX-License-Identifier: GPL-2.0-only */
/* obstacles.h: check the prerequisites of BPF; print what is missing and the remedy */
#ifndef OBSTACLES_H
#define OBSTACLES_H

#include <stdbool.h>

typedef void tell_obstacle(const char *sentence);

/* A kernel that is too old, has no types or forbids reading, or a process without rights. */
void for_each_obstacle(tell_obstacle *tell);

/* Whether this process has CAP_SYS_ADMIN. */
bool is_admin(void);

#endif
