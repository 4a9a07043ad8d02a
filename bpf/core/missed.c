// SPDX-License-Identifier: GPL-2.0-only
// missed.c: count how often a probe did not run

#include "missed.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stddef.h>

#include "call_probes.h"
#include "rows.h"
#include "probes.skel.h"

/*
 * The start of linux/bpf.h's struct bpf_link_info for a kprobe as it is since Linux 6.7
 * (kernel/bpf/syscall.c, bpf_perf_link_fill_kprobe()); the build's own header may be older.
 */
struct kprobe_link_info {
	uint32_t type, id, program, unused;
	uint32_t event, unused_too;
	uint64_t name;
	uint32_t name_bytes, offset;
	uint64_t address, missed;
};

#define EVENT_KPROBE 3	/* BPF_PERF_EVENT_KPROBE */

/* Not counted by the program: the kprobe itself was running (kernel/kprobes.c). */
static uint64_t missed_hits(struct bpf_link *link)
{
	struct kprobe_link_info info = {};
	uint32_t size = sizeof(info);

	if (!link || bpf_obj_get_info_by_fd(bpf_link__fd(link), &info, &size) ||
	    info.type != BPF_LINK_TYPE_PERF_EVENT || info.event != EVENT_KPROBE)
		return 0;
	return info.missed;
}

static uint64_t missed_runs(int program)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(program, &info, &size))
		return 0;
	return info.recursion_misses;
}

static uint64_t missed(const struct bpf_prog_skeleton *one)
{
	return missed_runs(bpf_program__fd(*one->prog)) + missed_hits(*one->link);
}

/*
 * What is contended while a probe of locks runs spins, and it passes over such a lock. Only an
 * interrupt hits a function while a probe of functions runs, and it passes over that, too.
 */
static bool may_miss(const struct probes *probes, const struct bpf_program *program)
{
	const struct bpf_program *const them[] = {
		probes->progs.wait_for_lock, probes->progs.end_wait_for_lock,
		probes->progs.enter_function_of_many, probes->progs.leave_function_of_many,
		probes->progs.enter_one_function, probes->progs.leave_one_function,
	};

	for (size_t i = 0; i < sizeof(them) / sizeof(*them); i++) {
		if (program == them[i])
			return true;
	}
	return false;
}

/* The other probe of the same function, where it has two; see enum hooks. */
static const struct bpf_program *other_of(const struct probes *probes,
					  const struct bpf_program *program)
{
	const struct bpf_program *const pairs[][2] = {
		{ probes->progs.submit, probes->progs.submit_by_kprobe },
		{ probes->progs.throttle, probes->progs.throttle_by_kprobe },
		{ probes->progs.finish, probes->progs.finish_by_kprobe },
	};

	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		for (int k = 0; k < 2; k++) {
			if (program == pairs[i][k] && bpf_program__autoload(pairs[i][!k]))
				return pairs[i][!k];
		}
	}
	return NULL;
}

#define PROGRAMS 64

/* Since the last time, at each place of the skeleton's. */
static void count_new(const struct bpf_object_skeleton *all, uint64_t new[PROGRAMS])
{
	static uint64_t reported[PROGRAMS];

	for (int i = 0; i < all->prog_cnt && i < PROGRAMS; i++) {
		uint64_t now = missed(&all->progs[i]);

		new[i] = now - reported[i];
		reported[i] = now;
	}
}

/* At most so many were missed by both. */
static uint64_t least(const struct bpf_object_skeleton *all, const uint64_t new[PROGRAMS],
		      int at, const struct bpf_program *other)
{
	for (int i = 0; i < all->prog_cnt && i < PROGRAMS; i++) {
		if (*all->progs[i].prog == other)
			return i < at ? 0 : new[i] < new[at] ? new[i] : new[at];
	}
	return new[at];
}

/* Since the last time, by the programs of single calls. */
static uint64_t new_misses_of_calls(void)
{
	static uint64_t reported;
	const int *programs;
	unsigned int count = call_programs(&programs);
	uint64_t now = 0, before = reported;

	for (unsigned int i = 0; i < count; i++)
		now += missed_runs(programs[i]);
	reported = now;
	return now - before;
}

uint64_t new_misses(const struct probes *probes)
{
	const struct bpf_object_skeleton *all = probes->skeleton;
	uint64_t sum = new_misses_of_calls(), new[PROGRAMS];

	count_new(all, new);
	for (int i = 0; i < all->prog_cnt && i < PROGRAMS; i++) {
		if (!may_miss(probes, *all->progs[i].prog))
			sum += least(all, new, i, other_of(probes, *all->progs[i].prog));
	}
	return sum;
}
