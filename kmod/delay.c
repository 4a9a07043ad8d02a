// SPDX-License-Identifier: GPL-2.0-only
/* delay.c: draw the next delay from a distribution, in integers */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/string.h>
#include "biodelay.h"

/**
 * biodelay_draws_init() - reset a rule's random number state
 * @draws: reset; the same seed then gives the same delays again
 */
void biodelay_draws_init(struct biodelay_draws *draws)
{
	memset(draws, 0, sizeof(*draws));
	raw_spin_lock_init(&draws->lock);
}

/*
 * The next random number of a seed: SplitMix64 (Steele, Lea and Flood, "Fast
 * splittable pseudorandom number generators", 2014), scaled to 0 <= x < @below.
 */
static u32 draw(struct biodelay_draws *draws, u64 seed, u32 below)
{
	u64 z = seed + ++draws->seeded * 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	z ^= z >> 31;
	return ((z >> 32) * below) >> 32;
}

static u64 since_ms(const struct biodelay_rule *rule)
{
	return div_u64(ktime_get_ns() - rule->armed_ns, NSEC_PER_MSEC);
}

static bool in_burst(const struct biodelay_rule *rule,
		     const struct biodelay_spec *spec)
{
	u64 into_ms;

	if (!spec->burst_period_ms)
		return true;
	div64_u64_rem(since_ms(rule), spec->burst_period_ms, &into_ms);
	return into_ms < spec->burst_on_ms;
}

/* The distribution that is in force; without points, nothing is delayed. */
static const struct biodelay_point *points_now(const struct biodelay_rule *rule,
					       const struct biodelay_spec *spec,
					       u32 *count)
{
	if (spec->series)
		return biodelay_series_at(spec->series, since_ms(rule), count);
	*count = spec->delay.count;
	return spec->delay.at;
}

/* Same attributes, in the same order, as should_fail() in lib/fault-inject.c. */
static bool is_due(struct biodelay_draws *draws,
		   const struct biodelay_spec *spec, u32 bytes)
{
	u64 nth;

	if (spec->times && draws->times >= spec->times)
		return false;
	if (draws->space < spec->space) {
		draws->space += bytes;
		return false;
	}
	div64_u64_rem(++draws->matched, spec->interval, &nth);
	return !nth && draw(draws, spec->seed, 100) < spec->probability;
}

/**
 * biodelay_draw_whether() - whether to delay a matched bio
 * @rule: the rule
 * @spec: its spec
 * @bytes: the bio's length
 *
 * Context: the probe's handler.
 */
bool biodelay_draw_whether(struct biodelay_rule *rule,
			   const struct biodelay_spec *spec, u32 bytes)
{
	struct biodelay_draws *draws = &rule->draws;
	unsigned long flags;
	u32 count;
	bool due;

	points_now(rule, spec, &count);
	if (!count || !in_burst(rule, spec))
		return false;
	raw_spin_lock_irqsave(&draws->lock, flags);
	due = is_due(draws, spec, bytes);
	draws->times += due;
	raw_spin_unlock_irqrestore(&draws->lock, flags);
	return due;
}

/*
 * A bio waits for the first free lane and occupies it until its service ends or is
 * cut off after @most_ns.
 */
static u64 queue_ns(struct biodelay_draws *draws, u64 lanes, u64 service_ns,
		    u64 now_ns, u64 most_ns)
{
	u64 *lane = &draws->lane_free_ns[0], start_ns;
	u64 i;

	if (!lanes)
		return min(service_ns, most_ns);
	for (i = 1; i < lanes; i++)
		if (draws->lane_free_ns[i] < *lane)
			lane = &draws->lane_free_ns[i];
	start_ns = max(*lane, now_ns);
	*lane = max(start_ns, min(start_ns + service_ns, now_ns + most_ns));
	return min(*lane - now_ns, most_ns);
}

/**
 * biodelay_draw_delay_ns() - draw the delay of the next bio
 * @rule: the rule
 * @spec: its spec
 * @now_ns: CLOCK_MONOTONIC
 *
 * Context: the probe's handler.
 */
u64 biodelay_draw_delay_ns(struct biodelay_rule *rule,
			   const struct biodelay_spec *spec, u64 now_ns)
{
	struct biodelay_draws *draws = &rule->draws;
	const struct biodelay_point *at;
	unsigned long flags;
	u32 count;
	u64 ns;

	at = points_now(rule, spec, &count);
	raw_spin_lock_irqsave(&draws->lock, flags);
	/* Repeating keeps the distribution; mixing two draws would not. */
	if (draw(draws, spec->seed, 1000) < spec->correlation && draws->last_ns)
		ns = draws->last_ns;
	else
		ns = biodelay_points_quantile_ns(at, count,
						 draw(draws, spec->seed,
						      BIODELAY_PPB));
	draws->last_ns = ns;
	ns = queue_ns(draws, spec->lanes, ns, now_ns,
		      spec->max_delay_us * NSEC_PER_USEC);
	raw_spin_unlock_irqrestore(&draws->lock, flags);
	return ns;
}
