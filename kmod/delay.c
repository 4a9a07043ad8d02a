// SPDX-License-Identifier: GPL-2.0-only
/* delay.c: draw the next delay from a distribution, in integers */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/string.h>
#include "biodelay.h"

#define MAX_NS (BIODELAY_MAX_DELAY_US * NSEC_PER_USEC)

static int add_point(struct biodelay_quantiles *delay, u64 ppb, u64 ns)
{
	u32 n = delay->count;

	if (n == BIODELAY_MAX_POINTS)
		return -E2BIG;
	if (ppb > BIODELAY_PPB || ns > MAX_NS)
		return -ERANGE;
	if (n && (ppb < delay->at[n - 1].ppb || ns < delay->at[n - 1].ns))
		return -EDOM;
	delay->at[n].ppb = ppb;
	delay->at[n].ns = ns;
	delay->count++;
	return 0;
}

static int parse_table(struct biodelay_quantiles *delay, char *words)
{
	char *word;
	u64 ppb, ns;
	int err = words ? 0 : -EINVAL;

	while (!err && (word = strsep(&words, " "))) {
		char *share = strsep(&word, ":");

		err = !word ? -EINVAL : kstrtou64(share, 10, &ppb) ?:
		      kstrtou64(word, 10, &ns) ?: add_point(delay, ppb, ns);
	}
	if (!err && (delay->count < 2 || delay->at[0].ppb ||
		     delay->at[delay->count - 1].ppb != BIODELAY_PPB))
		err = -EDOM;
	return err;
}

/**
 * biodelay_delay_parse() - parse a fixed delay, or a distribution
 * @delay: set; of no use on failure
 * @words: "NS" or "table PPB:NS ..."; modified
 *
 * Return: 0; -EINVAL for anything else, -ERANGE for a delay above
 * BIODELAY_MAX_DELAY_US or a share above 1e9, -EDOM for quantiles that decrease
 * or do not range from 0 to 1e9, -E2BIG for more than BIODELAY_MAX_POINTS.
 */
int biodelay_delay_parse(struct biodelay_quantiles *delay, char *words)
{
	char *first = strsep(&words, " ");
	u64 ns;

	delay->count = 0;
	if (!strcmp(first, "table"))
		return parse_table(delay, words);
	return words ? -EINVAL : kstrtou64(first, 10, &ns) ?:
				 add_point(delay, 0, ns);
}

/**
 * biodelay_delay_show() - print a distribution for biodelay_delay_parse()
 * @delay: the distribution
 * @page: PAGE_SIZE bytes
 *
 * Return: characters printed; 0 for no delay.
 */
int biodelay_delay_show(const struct biodelay_quantiles *delay, char *page)
{
	int n = 0;
	u32 i;

	if (!delay->count)
		return 0;
	if (delay->count == 1)
		return scnprintf(page, PAGE_SIZE, "%llu", delay->at[0].ns);
	n = scnprintf(page, PAGE_SIZE, "table");
	for (i = 0; i < delay->count; i++)
		n += scnprintf(page + n, PAGE_SIZE - n, " %u:%llu",
			       delay->at[i].ppb, delay->at[i].ns);
	return n;
}

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

static bool in_burst(const struct biodelay_rule *rule,
		     const struct biodelay_spec *spec)
{
	u64 since_ms = div_u64(ktime_get_ns() - rule->armed_ns, NSEC_PER_MSEC);
	u64 into_ms;

	if (!spec->burst_period_ms)
		return true;
	div64_u64_rem(since_ms, spec->burst_period_ms, &into_ms);
	return into_ms < spec->burst_on_ms;
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
	bool due;

	if (!in_burst(rule, spec))
		return false;
	raw_spin_lock_irqsave(&draws->lock, flags);
	due = is_due(draws, spec, bytes);
	draws->times += due;
	raw_spin_unlock_irqrestore(&draws->lock, flags);
	return due;
}

/* Inverse of the distribution function: linear between adjacent points. */
static u64 quantile_ns(const struct biodelay_quantiles *delay, u32 ppb)
{
	u32 low = 0, high = delay->count - 1;
	u64 part;

	if (!high)
		return delay->at[0].ns;
	while (high - low > 1) {
		u32 middle = (low + high) / 2;

		if (delay->at[middle].ppb <= ppb)
			low = middle;
		else
			high = middle;
	}
	/* In units of 2^-32: 30 s in ns times 2^32 would overflow, hence _shr. */
	part = div_u64((u64)(ppb - delay->at[low].ppb) << 32,
		       delay->at[high].ppb - delay->at[low].ppb);
	return delay->at[low].ns +
	       mul_u64_u32_shr(delay->at[high].ns - delay->at[low].ns, part, 32);
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
	unsigned long flags;
	u64 ns;

	raw_spin_lock_irqsave(&draws->lock, flags);
	/* Repeating keeps the distribution; mixing two draws would not. */
	if (draw(draws, spec->seed, 1000) < spec->correlation && draws->last_ns)
		ns = draws->last_ns;
	else
		ns = quantile_ns(&spec->delay,
				 draw(draws, spec->seed, BIODELAY_PPB));
	draws->last_ns = ns;
	ns = queue_ns(draws, spec->lanes, ns, now_ns,
		      spec->max_delay_us * NSEC_PER_USEC);
	raw_spin_unlock_irqrestore(&draws->lock, flags);
	return ns;
}
