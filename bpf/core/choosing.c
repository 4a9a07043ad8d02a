// SPDX-License-Identifier: GPL-2.0-only
// choosing.c: choose the programs and maps that a script needs on a kernel

#include "choosing.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "call_probes.h"
#include "drilling.h"
#include "output/events.h"
#include "probes.skel.h"

#define BIT(script) (1U << (script))
#define SLEEPS (BIT(STALLED_WRITES) | BIT(PAGE_LOCKS) | BIT(JOURNAL_COMMITS) | BIT(DRILLDOWN))

/* "none voluntary (full)", since Linux 5.12, where that can be chosen at boot; or the build. */
static bool preempts_tasks(void)
{
	FILE *file = fopen("/sys/kernel/debug/sched/preempt", "re");
	char modes[64] = "";
	struct utsname kernel;

	if (file) {
		if (!fgets(modes, sizeof(modes), file))
			modes[0] = 0;
		fclose(file);
	}
	if (modes[0])
		return !strstr(modes, "(none)") && !strstr(modes, "(voluntary)");
	return !uname(&kernel) && strstr(kernel.version, "PREEMPT");
}

enum hooks first_hooks(void)
{
	return preempts_tasks() ? BY_BOTH : BY_TRAMPOLINE;
}

enum hooks last_hooks(enum script script)
{
	return script == STALLED_WRITES ? UNSEEN : BY_KPROBE;
}

bool has_function(const struct btf *btf, const char *name)
{
	return btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0;
}

bool has_rings(const struct btf *btf)
{
	return btf__find_by_name_kind(btf, "trace_event_raw_io_uring_submit_req",
				      BTF_KIND_STRUCT) > 0;
}

/* Parameters of a tracepoint, which its typedef has behind one for its data. */
static int parameters(const struct btf *btf, const char *tracepoint)
{
	int id = btf__find_by_name_kind(btf, tracepoint, BTF_KIND_TYPEDEF);
	const struct btf_type *type;

	if (id < 0)
		return 0;
	type = btf__type_by_id(btf, btf__type_by_id(btf, id)->type);
	return btf_vlen(btf__type_by_id(btf, type->type)) - 1;
}

/* Two stand for those that call_probes.c loads; write(2) is as good as any. */
static void place_at_calls(struct probes *probes)
{
	bpf_program__set_attach_target(probes->progs.enter_of_chosen, 0, OF_CALL "write");
	bpf_program__set_attach_target(probes->progs.leave_of_chosen, 0, OF_CALL "write");
	bpf_program__set_attach_target(probes->progs.submit_of_chosen, 0, OF_CALL "io_submit");
	bpf_program__set_autoattach(probes->progs.enter_of_chosen, false);
	bpf_program__set_autoattach(probes->progs.leave_of_chosen, false);
}

void choose_programs(struct probes *probes, const struct btf *btf, enum script script,
		     enum hooks hooks, bool has_jbd2)
{
	bool sleeps = BIT(script) & SLEEPS;
	bool bios = script == STALLED_WRITES;
	bool exact = script == SLOW_WRITES;
	bool pages = script == PAGE_LOCKS;
	bool commits = script == JOURNAL_COMMITS;
	bool drills = script == DRILLDOWN, at_once = probes_many(btf);
	bool keeps = bios && probes->rodata->are_calls_kept;
	bool has_names = has_function(btf, "security_inode_rename");	/* CONFIG_SECURITY */
	bool has_requests = probes->rodata->are_requests_seen;
	bool has_syncs = probes->rodata->are_syncs_seen;
	bool waits = bios && (probes->rodata->waits_pid || probes->rodata->are_waits_by_comm);
	bool has_state = parameters(btf, "btf_trace_sched_switch") >= 4;
	bool is_lock_traced = (bios || commits || drills) && !probes->rodata->has_lock_owners &&
			      parameters(btf, "btf_trace_contention_begin") > 0;
	bool throttles = has_function(btf, "throtl_qnode_add_bio");
	bool by_trampoline = hooks <= BY_TRAMPOLINE;
	bool by_kprobe = hooks == BY_KPROBE, also_by_kprobe = by_kprobe || hooks == BY_BOTH;
	const struct {
		struct bpf_program *program;
		bool is_chosen;
	} programs[] = {
		{ probes->progs.calibrate, bios || exact || drills },
		{ probes->progs.enter_anew, bios },
		{ probes->progs.switch_with_state, sleeps && has_state },
		{ probes->progs.switch_without_state, sleeps && !has_state },
		{ probes->progs.waking, sleeps },
		{ probes->progs.wait_for_lock, is_lock_traced },
		{ probes->progs.end_wait_for_lock, is_lock_traced },
		{ probes->progs.submit, bios && by_trampoline },
		{ probes->progs.submit_by_kprobe, bios && also_by_kprobe },
		{ probes->progs.finish, bios && by_trampoline },
		{ probes->progs.finish_by_kprobe, bios && also_by_kprobe },
		{ probes->progs.throttle, bios && throttles && by_trampoline },
		{ probes->progs.throttle_by_kprobe, bios && throttles && also_by_kprobe },
		{ probes->progs.enter, exact },
		{ probes->progs.leave_to_user, exact },
		{ probes->progs.leave_wait, waits },
		{ probes->progs.enter_of_chosen, keeps },
		{ probes->progs.leave_of_chosen, keeps },
		{ probes->progs.leave_out, keeps },
		{ probes->progs.end_read_of_chosen, keeps },
		{ probes->progs.end_write_of_chosen, keeps },
		{ probes->progs.submit_of_chosen, keeps && has_function(btf, OF_CALL "io_submit") },
		{ probes->progs.unlink_of_chosen, keeps && has_names },
		{ probes->progs.rename_of_chosen, keeps && has_names },
		{ probes->progs.msync_of_chosen, keeps },
		{ probes->progs.fault_of_chosen, keeps },
		{ probes->progs.end_fault_of_chosen, keeps },
		{ probes->progs.request_of_chosen, keeps && has_requests },
		{ probes->progs.sync_of_chosen, keeps && has_syncs },
		{ probes->progs.end_sync_of_chosen, keeps && has_syncs },
		{ probes->progs.ring_of_chosen, keeps && has_rings(btf) },
		{ probes->progs.end_ring_of_chosen, keeps && has_rings(btf) },
		{ probes->progs.enter_function_of_many, drills && at_once },
		{ probes->progs.leave_function_of_many, drills && at_once },
		{ probes->progs.enter_one_function, drills && !at_once },
		{ probes->progs.leave_one_function, drills && !at_once },
		{ probes->progs.unlock, pages && by_trampoline },
		{ probes->progs.unlock_by_kprobe, pages && by_kprobe },
		{ probes->progs.finish_waiting, pages },
		{ probes->progs.commit_locks, has_jbd2 },
		{ probes->progs.commit_flushes, has_jbd2 },
		{ probes->progs.commit_logs, has_jbd2 },
		{ probes->progs.commit_finishes, has_jbd2 },
		{ probes->progs.commit_ends, has_jbd2 },
		{ probes->progs.handle_stops, has_jbd2 && commits },
	};

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		bpf_program__set_autoload(programs[i].program, programs[i].is_chosen);
	bpf_program__set_autoattach(probes->progs.calibrate, false);
	if (keeps)
		place_at_calls(probes);
	set_throttling_known(throttles);
}

void choose_maps(struct probes *probes, enum script script)
{
	unsigned int kept = probes->rodata->are_calls_kept ? BIT(STALLED_WRITES) : 0;
	const struct {
		struct bpf_map *map;
		unsigned int scripts;
	} maps[] = {
		{ probes->maps.asleep, SLEEPS },
		{ probes->maps.calls, BIT(STALLED_WRITES) },
		{ probes->maps.contended, SLEEPS & ~BIT(PAGE_LOCKS) },
		{ probes->maps.ios, BIT(STALLED_WRITES) },
		{ probes->maps.submitters, BIT(STALLED_WRITES) },
		{ probes->maps.series, probes->rodata->series_ns ? BIT(STALLED_WRITES) : 0 },
		{ probes->maps.queues, probes->rodata->series_ns ? BIT(STALLED_WRITES) : 0 },
		{ probes->maps.files, kept },
		{ probes->maps.requests, kept },
		{ probes->maps.begun_calls, BIT(SLOW_WRITES) },
		{ probes->maps.commits, BIT(JOURNAL_COMMITS) },
		{ probes->maps.handles, BIT(JOURNAL_COMMITS) },
		{ probes->maps.drilled, BIT(DRILLDOWN) },
		{ probes->maps.waits, BIT(PAGE_LOCKS) },
		{ probes->maps.pasts, BIT(PAGE_LOCKS) },
		{ probes->maps.journals, BIT(PAGE_LOCKS) },
	};

	for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++) {
		if (!(maps[i].scripts & BIT(script)))
			bpf_map__set_max_entries(maps[i].map, 1);
	}
	bpf_map__set_autocreate(probes->maps.callers, kept);
	if (!kept)	/* a buffer has whole pages */
		bpf_map__set_max_entries(probes->maps.kept, sysconf(_SC_PAGESIZE));
}
