/* SPDX-License-Identifier: GPL-2.0-only */
/* call_probes.h: probe the functions of system calls, docs/calls.toml */
#ifndef CALL_PROBES_H
#define CALL_PROBES_H

#include "options.h"

struct btf;
struct probes;		/* of the skeleton that bpftool makes */

/* Before the name of a system call in that of its function, since 4.17, d5a00528b58c. */
#if defined(__x86_64__)
#define OF_CALL "__x64_sys_"
#else
#define OF_CALL "__arm64_sys_"
#endif

/* stalled_writes: the calls with `entry`, and with --calls-mib those with `keep`. */
void attach_calls(struct probes *probes, const struct options *options,
		  const struct btf *btf);
void detach_calls(void);

/* The descriptors of the programs, in no order; how many is returned. */
unsigned int call_programs(const int **programs);

#endif
