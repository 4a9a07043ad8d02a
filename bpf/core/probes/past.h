/* SPDX-License-Identifier: GPL-2.0-only */
/* past.h: keep the last sleeps of each task */
#ifndef PAST_H
#define PAST_H

#include "state.h"

/*
 * Which task unlocks a page is known only when it does so: therefore the last sleeps of
 * each task are kept, by its address, until it ends.
 */
static __always_inline void remember(__u64 key, const struct block_row *row)
{
	struct past *past = bpf_map_lookup_elem(&pasts, &key);
	struct sleep *sleep;

	if (!past) {
		if (bpf_map_update_elem(&pasts, &key, &no_past, BPF_ANY)) {
			lose(&lost.past);
			return;
		}
		past = bpf_map_lookup_elem(&pasts, &key);
	}
	if (!past)
		return;
	sleep = &past->last[past->count++ % LAST_SLEEPS];
	sleep->t_ns = row->t_ns;
	sleep->woken_ns = row->woken_ns;
	sleep->stack.count = row->stacks.kernel;
	bpf_probe_read_kernel(sleep->stack.frames, sizeof(sleep->stack.frames),
			      row->stacks.frames);
}

static __always_inline void forget(__u64 key)
{
	bpf_map_delete_elem(&pasts, &key);
}

static __always_inline void know_nothing(struct overlap *overlap)
{
	overlap->sleeps = UNKNOWN;
	overlap->slept_ns = UNKNOWN;
	overlap->longest_ns = UNKNOWN;
	overlap->longest.count = 0;
}

/* Add a sleep to what overlaps an interval; return how long both have in common. */
static __always_inline __s64 overlap_with(const struct sleep *sleep, __s64 from_ns,
					  __s64 to_ns, struct overlap *overlap)
{
	__s64 begin_ns = sleep->t_ns > from_ns ? sleep->t_ns : from_ns;
	__s64 end_ns = sleep->woken_ns < to_ns ? sleep->woken_ns : to_ns;

	if (end_ns <= begin_ns)
		return 0;
	overlap->sleeps++;
	overlap->slept_ns += end_ns - begin_ns;
	return end_ns - begin_ns;
}

/* How the last sleeps of a task overlap an interval. */
static __always_inline void recall(__u64 key, __s64 from_ns, __s64 to_ns,
				   struct overlap *overlap)
{
	struct past *past = bpf_map_lookup_elem(&pasts, &key);
	struct sleep *longest = 0;
	__s64 common_ns, most_ns = 0;
	int i;

	know_nothing(overlap);
	overlap->sleeps = 0;
	overlap->slept_ns = 0;
	if (!past)
		return;
	for (i = 0; i < LAST_SLEEPS; i++) {
		common_ns = overlap_with(&past->last[i], from_ns, to_ns, overlap);
		if (common_ns > most_ns) {
			most_ns = common_ns;
			longest = &past->last[i];
		}
	}
	if (!longest)
		return;
	overlap->longest_ns = longest->woken_ns - longest->t_ns;
	bpf_probe_read_kernel(&overlap->longest, sizeof(overlap->longest), &longest->stack);
}

#endif
