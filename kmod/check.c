// SPDX-License-Identifier: GPL-2.0-only
/* check.c: whether a spec may be armed on this kernel */
#include "biodelay.h"

static u64 longest_ns(const struct biodelay_spec *spec)
{
	u32 count = spec->delay.count;

	if (spec->series)
		return biodelay_series_longest_ns(spec->series);
	return count ? spec->delay.at[count - 1].ns : 0;
}

/**
 * biodelay_spec_check() - whether a spec is complete enough to be armed
 * @spec: the spec
 *
 * Return: 0; -EDESTADDRREQ without a device, -EDOM without a delay,
 * -EOPNOTSUPP for a mode that is not safe on this kernel, -ERANGE for a delay
 * too long to spin, -EXDEV for writes that must not be reordered.
 */
int biodelay_spec_check(const struct biodelay_spec *spec)
{
	if (!spec->device.dev) {
		pr_err("no device: set device=vdb or device=MAJ:MIN\n");
		return -EDESTADDRREQ;
	}
	if (!longest_ns(spec)) {
		pr_err("no delay: set delay_us=1 to %llu\n",
		       BIODELAY_MAX_DELAY_US);
		return -EDOM;
	}
	if (spec->mode != BIODELAY_SPIN && !BIODELAY_CAN_REDIRECT) {
		pr_err("mode=%s: needs Linux 4.19 or later, where a probe may redirect its caller; mode=spin works\n",
		       biodelay_mode_names[spec->mode]);
		return -EOPNOTSUPP;
	}
	if (spec->mode == BIODELAY_SPIN && !BIODELAY_CAN_SPIN) {
		pr_err("mode=spin: not with PREEMPT_RT, where a spinning task cannot wake a reader; mode=sleep works\n");
		return -EOPNOTSUPP;
	}
	if (spec->mode == BIODELAY_SPIN &&
	    longest_ns(spec) > BIODELAY_MAX_SPIN_US * NSEC_PER_USEC) {
		pr_err("mode=spin: keeps a CPU, so a delay is at most %llu us\n",
		       BIODELAY_MAX_SPIN_US);
		return -ERANGE;
	}
	if (spec->mode == BIODELAY_DEFER && spec->device.zoned) {
		pr_err("mode=defer: %s is zoned, its writes must keep their order; mode=sleep works\n",
		       spec->device.name);
		return -EXDEV;
	}
	return 0;
}
