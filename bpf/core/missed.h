/* SPDX-License-Identifier: GPL-2.0-only */
/* missed.h: count how often a probe did not run */
#ifndef MISSED_H
#define MISSED_H

#include <stdint.h>

struct probes;		/* of the skeleton that bpftool makes */

/*
 * How often, since the last time, a probe was hit and did not run, for it ran on the same
 * CPU already: at most so often where a function has two probes. Counted since Linux 5.12,
 * of kprobes since 6.7.
 */
uint64_t new_misses(const struct probes *probes);

#endif
