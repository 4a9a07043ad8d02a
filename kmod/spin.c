// SPDX-License-Identifier: GPL-2.0-only
/* spin.c: mode spin: the probe's handler busy-waits for the delay */
#include <linux/bio.h>
#include "biodelay.h"

/* Preemption is off, hence the low limit. A disarm ends the loop. */
static int spin_delay(struct biodelay_rule *rule,
		      const struct biodelay_spec *spec, struct bio *bio,
		      struct pt_regs *regs)
{
	struct biodelay_record record;

	biodelay_record_begin(&record, rule, spec, bio);
	record.requested_ns = min(record.requested_ns,
				  BIODELAY_MAX_SPIN_US * NSEC_PER_USEC);
	atomic_inc(&rule->in_flight);
	while (READ_ONCE(rule->armed) &&
	       ktime_get_ns() - record.t_ns < record.requested_ns)
		cpu_relax();
	biodelay_record_end(&record, rule);
	atomic_dec(&rule->in_flight);
	return 0;
}

const struct biodelay_mode_ops biodelay_spin_ops = {
	.delay = spin_delay,
};
