// SPDX-License-Identifier: GPL-2.0-only
// drilling.c: probe the functions of a drill-down, which are named when it starts

#include "drilling.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "choosing.h"
#include "log.h"
#include "output/events.h"
#include "output/kernel_symbols.h"
#include "probes.skel.h"
#include "rows.h"

#define NAME 512	/* KSYM_NAME_LEN, linux/kallsyms.h */
#define TRACEABLE "/sys/kernel/tracing/available_filter_functions"

static struct function {
	char name[NAME];
	bool may_be_left_out;
	bool is_traceable;
	uint64_t address;
} functions[MOST_FUNCTIONS];
static unsigned int count;

/* Two for each function, or, where all are probed at once, two. */
static struct bpf_link *links[2 * MOST_FUNCTIONS];
static unsigned int link_count;

bool probes_many(const struct btf *btf)
{
	return has_function(btf, "register_fprobe_ips");
}

static const char *function_name(unsigned int place)
{
	return functions[place].name;
}

static void refuse(const struct function *function, const char *why)
{
	die(EXIT_FAILED, "cannot probe %s: %s", function->name, why);
}

/* Whether it has one place in the kernel, which ftrace can patch. */
static bool can_be_probed(struct function *function)
{
	unsigned int places = function_places(function->name, &function->address);
	const char *why = !places ? "the kernel has no such function" :
		places > 1 ? "the kernel has several functions of that name" :
		function->is_traceable ? NULL : "it is not in " TRACEABLE;

	if (why && !function->may_be_left_out)
		refuse(function, why);
	return !why;
}

static void add(const char *name, size_t length)
{
	struct function *function = &functions[count];

	if (count == MOST_FUNCTIONS)
		die(EXIT_USAGE, "--functions: at most %d", MOST_FUNCTIONS);
	if (!length || length >= NAME)
		die(EXIT_USAGE, "--functions: give names, with commas between them");
	*function = (struct function){ 0 };
	memcpy(function->name, name, length);
	if (name[length - 1] == '?') {
		function->may_be_left_out = count > 0;	/* the root is not */
		function->name[length - 1] = 0;
	}
	count++;
}

/* A line of the list: `ext4_sync_file [ext4]`. */
static void mark(const char *line)
{
	size_t length = strcspn(line, " \n");

	for (unsigned int i = 0; i < count; i++) {
		struct function *function = &functions[i];

		if (!strncmp(function->name, line, length) && !function->name[length])
			function->is_traceable = true;
	}
}

/*
 * The kernel refuses others, inline functions among them, even where they stand alone
 * (include/linux/compiler_types.h; kernel/trace/trace_kprobe.c, within_notrace_func()).
 */
static void find_traceable(void)
{
	FILE *file = fopen(TRACEABLE, "re");
	char line[NAME + 128];

	if (!file)
		die(EXIT_FAILED, TRACEABLE ": %s; mount tracefs", strerror(errno));
	while (fgets(line, sizeof(line), file))
		mark(line);
	fclose(file);
}

void find_functions(const char *names, const struct btf *btf)
{
	unsigned int kept = 0;

	if (!has_function(btf, "bpf_get_attach_cookie_trace"))
		die(EXIT_FAILED, "drilldown needs Linux 5.15 or later; use --engine stap");
	symbols_refresh();
	while (*names) {
		size_t length = strcspn(names, ",");

		add(names, length);
		names += length + (names[length] == ',');
	}
	find_traceable();
	for (unsigned int i = 0; i < count; i++) {
		if (can_be_probed(&functions[i]))
			functions[kept++] = functions[i];
	}
	count = kept;
	set_function_names(function_name);
}

static void add_link(struct bpf_link *link, const char *what)
{
	if (!link)
		die(EXIT_FAILED, "cannot probe %s: %s", what, strerror(errno));
	links[link_count++] = link;
}

static void attach_many(struct bpf_program *program, bool at_end)
{
	unsigned long addresses[MOST_FUNCTIONS];
	__u64 cookies[MOST_FUNCTIONS];
	LIBBPF_OPTS(bpf_kprobe_multi_opts, opts, .addrs = addresses, .cookies = cookies,
		    .cnt = count, .retprobe = at_end);

	for (unsigned int i = 0; i < count; i++) {
		addresses[i] = functions[i].address;
		cookies[i] = i;
	}
	add_link(bpf_program__attach_kprobe_multi_opts(program, NULL, &opts), "the functions");
}

static void attach_one(struct bpf_program *program, unsigned int i, bool at_end)
{
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .bpf_cookie = i, .retprobe = at_end);

	add_link(bpf_program__attach_kprobe_opts(program, functions[i].name, &opts),
		 functions[i].name);
}

void attach_functions(struct probes *probes, bool at_once)
{
	if (at_once) {
		attach_many(probes->progs.leave_function_of_many, true);
		attach_many(probes->progs.enter_function_of_many, false);
		return;
	}
	for (unsigned int i = count; i-- > 0;) {
		attach_one(probes->progs.leave_one_function, i, true);
		attach_one(probes->progs.enter_one_function, i, false);
	}
}

void detach_functions(void)
{
	while (link_count > 0)
		bpf_link__destroy(links[--link_count]);
}
