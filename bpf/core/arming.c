// SPDX-License-Identifier: GPL-2.0-only
// arming.c: load the probes into this kernel, attach and detach them

#include "arming.h"

#include <asm/unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "call_probes.h"
#include "calls.h"
#include "choosing.h"
#include "drilling.h"
#include "output/kernel_symbols.h"
#include "prerequisites.h"
#include "preempt_count.h"
#include "probes.skel.h"
#include "log.h"
#include "scripts.h"
#include "trace_fields.h"

static char last_words[512];

/* libbpf says on several lines why a load failed; the first one has the reason. */
static int keep_words(enum libbpf_print_level level, const char *format, va_list values)
{
	if (level == LIBBPF_WARN && !last_words[0]) {
		vsnprintf(last_words, sizeof(last_words), format, values);
		last_words[strcspn(last_words, "\n")] = 0;
	}
	return 0;
}

/* The value of an enumerator; an anonymous enum has no name to relocate by. */
static int enumerator(const struct btf *btf, const char *name)
{
	for (uint32_t id = 1; id < btf__type_cnt(btf); id++) {
		const struct btf_type *type = btf__type_by_id(btf, id);
		const struct btf_enum *value = btf_enum(type);

		if (!btf_is_enum(type))
			continue;
		for (int i = 0; i < btf_vlen(type); i++) {
			if (!strcmp(btf__name_by_offset(btf, value[i].name_off), name))
				return value[i].val;
		}
	}
	die(EXIT_FAILED, "this kernel has no %s: use SystemTap (--engine stap)", name);
}

/* The tracer's, unless it is the chosen process's, too: of one terminal. */
static int own_session(int32_t chosen)
{
	return getsid(0) == getsid(chosen) ? 0 : getsid(0);
}

static void set_options(struct probes *probes, const struct options *options)
{
	struct probes__rodata *settings = probes->rodata;

	settings->script = options->script;
	settings->floor_ns = options->limits.floor_ns;
	settings->stall_ns = options->limits.stall_ns;
	settings->io_ns = options->limits.io_ns;
	settings->series_ns = options->series_ns;
	settings->are_calls_kept = options->calls_bytes > 0;
	settings->page_bytes = sysconf(_SC_PAGESIZE);
	settings->only_pid = options->pid;
	settings->only_dev = options->device;
	settings->only_ino = options->inode;
	if (options->comm) {
		settings->is_comm_chosen = true;
		strncpy(settings->only_comm, options->comm, COMM_BYTES - 1);
	}
	settings->waits_pid = options->waits_pid;
	settings->own_session = own_session(options->waits_pid);
	if (options->waits_comm) {
		settings->are_waits_by_comm = true;
		strncpy(settings->waits_comm, options->waits_comm, COMM_BYTES - 1);
	}
}

/* See note_uring() in probes/inflight.h. */
static void report_unseen(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "io_kiocb", BTF_KIND_STRUCT);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, id) : NULL;
	const struct btf_member *member = type ? btf_members(type) : NULL;

	for (int i = 0; type && i < btf_vlen(type); i++) {
		if (!strcmp(btf__name_by_offset(btf, member[i].name_off), "cqe"))
			return;
	}
	log_message("not seen on this kernel: requests that workers of io_uring and AIO take over,"
		    " their sleeps apart");
}

static void set_kernel(struct probes *probes, const struct btf *btf)
{
	struct probes__rodata *settings = probes->rodata;

	settings->bpf_call = __NR_bpf;
	settings->io_submit_call = __NR_io_submit;
	settings->are_requests_seen = has_function(btf, "aio_complete_rw");
	settings->are_syncs_seen = has_function(btf, "aio_fsync_work");
	settings->futex_call = __NR_futex;
	settings->has_lock_owners = has_function(btf, "rwsem_owner");
	settings->bio_chain_bit = enumerator(btf, "BIO_CHAIN");
	/* WQ_FLAG_DONE; Linux 6.7 changed it and removed the bookmarks of queues */
	settings->wait_done = has_function(btf, "__wake_up_locked_key_bookmark") ? 16 : 8;
	find_preempt_count(probes, btf);
}

static void add_call(const struct call *call, uint64_t how, void *data)
{
	uint32_t number = call->number;

	if (bpf_map_update_elem(*(int *)data, &number, &how, BPF_ANY))
		die(EXIT_FAILED, "the table of calls: %s", strerror(errno));
}

/* See find_registers() in probes/registers.h. */
static void calibrate(struct probes *probes)
{
	LIBBPF_OPTS(bpf_test_run_opts, run);
	int error = bpf_prog_test_run_opts(bpf_program__fd(probes->progs.calibrate), &run);

	if (error)
		die(EXIT_FAILED, "the first probe does not run: %s", strerror(-error));
	if (!probes->bss->regs_offset)
		die(EXIT_FAILED, "user registers not found: use SystemTap (--engine stap)");
}

/* Load and attach; NULL where the kernel refuses, and last_words say what. */
static struct probes *try(const struct options *options, const struct btf *btf,
			  const struct jbd2_fields *jbd2, enum hooks hooks)
{
	/*
	 * A type that the kernel has not is looked for in all modules, which needs
	 * CAP_SYS_ADMIN, unless the BTF is one that was named (libbpf.c,
	 * bpf_core_find_cands()).
	 */
	LIBBPF_OPTS(bpf_object_open_opts, opts,
		    .btf_custom_path = is_admin() ? NULL : "/sys/kernel/btf/vmlinux");
	struct probes *probes;
	int map;

	last_words[0] = 0;
	probes = probes__open_opts(&opts);
	if (!probes)
		return NULL;
	set_options(probes, options);
	set_kernel(probes, btf);
	if (jbd2)
		probes->rodata->jbd2 = *jbd2;
	probes->rodata->has_two_probes = hooks == BY_BOTH;
	choose_programs(probes, btf, options->script, hooks, jbd2);
	choose_maps(probes, options->script);
	if (!probes__load(probes)) {
		map = bpf_map__fd(probes->maps.known_calls);
		for_chosen_calls(options->script, options->calls, add_call, &map);
		if (bpf_program__autoload(probes->progs.calibrate))
			calibrate(probes);
		if (!probes__attach(probes)) {
			if (options->script == STALLED_WRITES)
				attach_calls(probes, options, btf);
			if (options->functions)
				attach_functions(probes, probes_many(btf));
			return probes;
		}
	}
	probes__destroy(probes);
	return NULL;
}

static void refuse(const char *missing)
{
	die(EXIT_FAILED, "%s", missing);
}

/* Where it is not there, page_locks does without the phases of journals. */
static const struct jbd2_fields *jbd2_of_kernel(enum script script)
{
	static struct jbd2_fields fields;

	if (script != PAGE_LOCKS && script != JOURNAL_COMMITS)
		return NULL;
	if (find_jbd2_fields(&fields))
		return &fields;
	if (script == JOURNAL_COMMITS)
		die(EXIT_FAILED, "jbd2 is not loaded, or tracefs is not mounted on"
		    " /sys/kernel/tracing: mount an ext4, or use SystemTap (--engine stap)");
	log_message("not seen: phases of journals, for jbd2 is not loaded");
	return NULL;
}

struct probes *arm(const struct options *options, bool *are_bios_seen)
{
	enum hooks hooks, last = last_hooks(options->script);
	const struct jbd2_fields *jbd2;
	struct probes *probes = NULL;
	struct btf *btf;

	libbpf_set_print(keep_words);
	for_each_missing(refuse);
	btf = btf__load_vmlinux_btf();
	if (!btf)
		die(EXIT_FAILED, "the kernel's BTF cannot be read: %s", strerror(errno));
	if (options->functions)
		find_functions(options->functions, btf);
	jbd2 = jbd2_of_kernel(options->script);
	for (hooks = first_hooks(); !probes && hooks <= last; hooks++)
		probes = try(options, btf, jbd2, hooks);
	if (!probes) {
		check_kernel_variables();
		die(EXIT_FAILED, "the kernel refuses the probes: %s", last_words);
	}
	if (options->script == STALLED_WRITES)
		report_unseen(btf);
	btf__free(btf);
	*are_bios_seen = hooks <= UNSEEN;
	return probes;
}

void disarm(struct probes *probes)
{
	detach_calls();
	detach_functions();
	probes__detach(probes);
}
