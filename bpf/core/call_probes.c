// SPDX-License-Identifier: GPL-2.0-only
// call_probes.c: probe the functions of system calls, docs/calls.toml

#include "call_probes.h"

#include <asm/unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calls.h"
#include "choosing.h"
#include "log.h"
#include "probes.skel.h"

#define FUNCTION_BYTES 64

struct arming {
	const struct probes *probes;
	const struct btf *btf;
};

static struct bpf_link *entries[2 * MOST_CALLS];
static unsigned int entry_count;

/* A program is of one function: it is loaded for each of them. */
static int programs[2 * MOST_CALLS], links[2 * MOST_CALLS];
static unsigned int program_count;

/* The table has requests as well. */
static bool is_system_call(const struct call *call)
{
	return call->number < CALL_URING;
}

static void name_function(char function[FUNCTION_BYTES], const struct call *call)
{
	snprintf(function, FUNCTION_BYTES, OF_CALL "%s", call->function);
}

/* A kernel may lack a call. */
static void probe_entry(const struct bpf_program *program, const struct call *call)
{
	char function[FUNCTION_BYTES];

	name_function(function, call);
	entries[entry_count++] = bpf_program__attach_kprobe(program, false, function);
}

static void attach_entry(const struct call *call, uint64_t how, void *data)
{
	const struct arming *arming = data;

	(void)how;
	if (call->entry)
		probe_entry(arming->probes->progs.enter_anew, call);
}

/* io_uring's requests are kept instead of its call where they are seen. */
static void attach_left(const struct call *call, uint64_t how, void *data)
{
	const struct arming *arming = data;

	(void)how;
	if (call->keep == KEEP_LEFT && is_system_call(call) &&
	    !(call->number == __NR_io_uring_enter && has_rings(arming->btf)))
		probe_entry(arming->probes->progs.leave_out, call);
}

static void load_onto(const struct bpf_program *program, int function_id, const char *function)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .attach_btf_id = function_id,
		    .expected_attach_type = bpf_program__expected_attach_type(program));
	int loaded = bpf_prog_load(BPF_PROG_TYPE_TRACING, bpf_program__name(program), "GPL",
				   bpf_program__insns(program), bpf_program__insn_cnt(program),
				   &opts);
	int link = loaded < 0 ? -1 : bpf_raw_tracepoint_open(NULL, loaded);

	if (link < 0)
		die(EXIT_FAILED, "cannot probe %s: %s", function, strerror(errno));
	programs[program_count] = loaded;
	links[program_count++] = link;
}

/* That of a HOW_TRANSFER is kept at another end: probes/profile.h, end_transfer(). */
static void attach_kept(const struct call *call, uint64_t how, void *data)
{
	const struct arming *arming = data;
	char function[FUNCTION_BYTES];
	int id;

	if (call->keep <= KEEP_LEFT || !is_system_call(call))
		return;
	name_function(function, call);
	id = btf__find_by_name_kind(arming->btf, function, BTF_KIND_FUNC);
	if (id < 0) {
		log_message("not kept: calls of %s, which this kernel's BTF has not", call->name);
		return;
	}
	if (!(how & HOW_TRANSFER))
		load_onto(arming->probes->progs.leave_of_chosen, id, function);
	load_onto(arming->probes->progs.enter_of_chosen, id, function);
}

void attach_calls(struct probes *probes, const struct options *options,
		  const struct btf *btf)
{
	struct arming arming = { .probes = probes, .btf = btf };

	for_chosen_calls(options->script, options->calls, attach_entry, &arming);
	if (options->calls_bytes) {
		for_chosen_calls(options->script, options->calls, attach_left, &arming);
		for_chosen_calls(options->script, options->calls, attach_kept, &arming);
	}
}

void detach_calls(void)
{
	while (entry_count > 0)
		bpf_link__destroy(entries[--entry_count]);
	for (unsigned int i = 0; i < program_count; i++)
		close(links[i]);
}

unsigned int call_programs(const int **all)
{
	*all = programs;
	return program_count;
}
