/* SPDX-License-Identifier: GPL-2.0-only */
/* missed.h: count how often a probe did not run */
#ifndef MISSED_H
#define MISSED_H

#include <stdint.h>

struct probes;		/* of the skeleton that bpftool makes */

/*
 * The kernel passes over a probe that is hit while it runs on the same CPU: by an
 * interrupt. Counted since Linux 5.12, of kprobes since 6.7.
 */
uint64_t missed_probes(const struct probes *probes);

#endif
