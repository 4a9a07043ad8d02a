/* SPDX-License-Identifier: GPL-2.0-only */
/* choosing.h: choose the programs and maps that a script needs on a kernel */
#ifndef CHOOSING_H
#define CHOOSING_H

#include <stdbool.h>

#include "rows.h"

struct btf;
struct probes;		/* of the skeleton that bpftool makes */

/*
 * How functions are probed, in the order in which it is tried. The kernel passes over the
 * program of a trampoline that runs on the CPU already (kernel/bpf/trampoline.c,
 * __bpf_prog_enter_recur()): where it preempts tasks, over the bios of all others while a
 * task is preempted there. It passes over a kprobe that an interrupt hits in the handler of
 * another (arch/x86/kernel/kprobes/ftrace.c, kprobe_ftrace_handler()). So where it preempts
 * tasks, bios have both; the second probe of a bio finds that the first has noted it.
 */
enum hooks { BY_BOTH, BY_TRAMPOLINE, BY_KPROBE, UNSEEN };

enum hooks first_hooks(void);

/* stalled_writes does without the functions that see bios. */
enum hooks last_hooks(enum script script);

bool has_function(const struct btf *btf, const char *name);

/* Whether it has the tracepoint io_uring_submit_req, as since Linux 6.3. */
bool has_rings(const struct btf *btf);

void choose_programs(struct probes *probes, const struct btf *btf, enum script script,
		     enum hooks hooks, bool has_jbd2);

/* Those of other scripts take no memory. */
void choose_maps(struct probes *probes, enum script script);

#endif
