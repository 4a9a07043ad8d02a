/* SPDX-License-Identifier: GPL-2.0-only */
/* cgroup.h: find the cgroup of this process */
#ifndef CGROUP_H
#define CGROUP_H

#include <stdint.h>

/* The id of its cgroup of version 2, the number of the folder's inode; 0: not found. */
uint64_t own_cgroup(void);

#endif
