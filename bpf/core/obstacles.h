/* SPDX-License-Identifier: GPL-2.0-only */
/* obstacles.h: say in one sentence what keeps BPF from working here, and what helps */
#ifndef OBSTACLES_H
#define OBSTACLES_H

#include <stdbool.h>

/* Exits where the kernel has no types, forbids reading, or this process has no rights. */
void check_obstacles(void);

/* Whether this process has CAP_SYS_ADMIN. */
bool is_admin(void);

#endif
