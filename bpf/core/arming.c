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

#include "calls.h"
#include "output/kernel_symbols.h"
#include "obstacles.h"
#include "preempt_count.h"
#include "probes.skel.h"
#include "say.h"

/* How bios are seen, in the order in which it is tried. */
enum bios { BY_TRAMPOLINE, BY_KPROBE, UNSEEN };

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

static bool has_function(const struct btf *btf, const char *name)
{
	return btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) > 0;
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

static void choose_programs(struct probes *probes, const struct btf *btf,
			    enum bios bios)
{
	bool has_state = parameters(btf, "btf_trace_sched_switch") >= 4;
	bool is_lock_traced = !probes->rodata->has_lock_owners &&
			      parameters(btf, "btf_trace_contention_begin") > 0;
	bool throttles = has_function(btf, "throtl_qnode_add_bio");
	const struct {
		struct bpf_program *program;
		bool is_chosen;
	} alternatives[] = {
		{ probes->progs.switch_with_state, has_state },
		{ probes->progs.switch_without_state, !has_state },
		{ probes->progs.wait_for_lock, is_lock_traced },
		{ probes->progs.end_wait_for_lock, is_lock_traced },
		{ probes->progs.submit, bios == BY_TRAMPOLINE },
		{ probes->progs.submit_by_kprobe, bios == BY_KPROBE },
		{ probes->progs.finish, bios == BY_TRAMPOLINE },
		{ probes->progs.finish_by_kprobe, bios == BY_KPROBE },
		{ probes->progs.throttle, throttles && bios == BY_TRAMPOLINE },
		{ probes->progs.throttle_by_kprobe, throttles && bios == BY_KPROBE },
	};

	for (size_t i = 0; i < sizeof(alternatives) / sizeof(*alternatives); i++)
		bpf_program__set_autoload(alternatives[i].program,
					  alternatives[i].is_chosen);
	bpf_program__set_autoattach(probes->progs.calibrate, false);
	set_throttling_known(throttles);
}

static void set_options(struct probes *probes, const struct options *options)
{
	struct probes__rodata *settings = probes->rodata;

	settings->floor_ns = options->limits.floor_ns;
	settings->stall_ns = options->limits.stall_ns;
	settings->io_ns = options->limits.io_ns;
	settings->only_pid = options->pid;
	settings->only_dev = options->device;
	settings->only_ino = options->inode;
	if (options->comm) {
		settings->is_comm_chosen = true;
		strncpy(settings->only_comm, options->comm, COMM_BYTES - 1);
	}
}

/* See note_uring() in probes/inflight.h. */
static void tell_unseen(const struct btf *btf)
{
	int id = btf__find_by_name_kind(btf, "io_kiocb", BTF_KIND_STRUCT);
	const struct btf_type *type = id > 0 ? btf__type_by_id(btf, id) : NULL;
	const struct btf_member *member = type ? btf_members(type) : NULL;

	for (int i = 0; type && i < btf_vlen(type); i++) {
		if (!strcmp(btf__name_by_offset(btf, member[i].name_off), "cqe"))
			return;
	}
	say("not seen on this kernel: requests that workers of io_uring and AIO take over,"
	    " their sleeps apart");
}

static void set_kernel(struct probes *probes, const struct btf *btf)
{
	struct probes__rodata *settings = probes->rodata;

	settings->bpf_call = __NR_bpf;
	settings->io_submit_call = __NR_io_submit;
	settings->has_lock_owners = has_function(btf, "rwsem_owner");
	settings->bio_chain_bit = enumerator(btf, "BIO_CHAIN");
	find_preempt_count(probes, btf);
}

static void know_call(const struct call *call, uint64_t how, void *data)
{
	int64_t number = call->number;

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
			  enum bios bios)
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
	choose_programs(probes, btf, bios);
	if (!probes__load(probes)) {
		map = bpf_map__fd(probes->maps.known_calls);
		for_chosen_calls(options->calls, know_call, &map);
		calibrate(probes);
		if (!probes__attach(probes))
			return probes;
	}
	probes__destroy(probes);
	return NULL;
}

struct probes *arm(const struct options *options, bool *are_bios_seen)
{
	struct probes *probes = NULL;
	enum bios bios;
	struct btf *btf;

	libbpf_set_print(keep_words);
	check_obstacles();
	btf = btf__load_vmlinux_btf();
	if (!btf)
		die(EXIT_FAILED, "the kernel's BTF cannot be read: %s", strerror(errno));
	for (bios = BY_TRAMPOLINE; !probes && bios <= UNSEEN; bios++)
		probes = try(options, btf, bios);
	if (!probes) {
		check_kernel_variables();
		die(EXIT_FAILED, "the kernel refuses the probes: %s", last_words);
	}
	tell_unseen(btf);
	btf__free(btf);
	*are_bios_seen = bios <= UNSEEN;
	return probes;
}

/*
 * Those of locks do not count: what is contended while they run spins, and they pass over
 * such a lock.
 */
uint64_t missed_runs(const struct probes *probes)
{
	uint64_t sum = 0;
	struct bpf_program *program;

	bpf_object__for_each_program(program, probes->obj) {
		struct bpf_prog_info info = {};
		uint32_t size = sizeof(info);

		if (program != probes->progs.wait_for_lock &&
		    program != probes->progs.end_wait_for_lock &&
		    !bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &size))
			sum += info.recursion_misses;
	}
	return sum;
}

void disarm(struct probes *probes)
{
	probes__detach(probes);
}
