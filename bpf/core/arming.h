/* SPDX-License-Identifier: GPL-2.0-only */
/* arming.h: load the probes into this kernel, attach and detach them */
#ifndef ARMING_H
#define ARMING_H

#include <stdbool.h>
#include <stdint.h>

#include "options.h"

struct probes;		/* of the skeleton that bpftool makes */

/*
 * Exits with one sentence and its remedy where this kernel or these rights do not do. A
 * kernel with neither trampolines for BPF nor kprobes shows no bios.
 */
struct probes *arm(const struct options *options, bool *are_bios_seen);

/* Nothing is noted any more; what was noted can still be read. */
void disarm(struct probes *probes);

#endif
