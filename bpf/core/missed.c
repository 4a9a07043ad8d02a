// SPDX-License-Identifier: GPL-2.0-only
// missed.c: count how often a probe did not run

#include "missed.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>

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

static uint64_t missed_runs(const struct bpf_program *program)
{
	struct bpf_prog_info info = {};
	uint32_t size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
		return 0;
	return info.recursion_misses;
}

/* What is contended while they run spins, and they pass over such a lock. */
static bool may_miss(const struct probes *probes, const struct bpf_program *program)
{
	return program == probes->progs.wait_for_lock ||
		program == probes->progs.end_wait_for_lock;
}

uint64_t missed_probes(const struct probes *probes)
{
	const struct bpf_object_skeleton *all = probes->skeleton;
	uint64_t sum = 0;

	for (int i = 0; i < all->prog_cnt; i++) {
		if (!may_miss(probes, *all->progs[i].prog))
			sum += missed_runs(*all->progs[i].prog) +
				missed_hits(*all->progs[i].link);
	}
	return sum;
}
