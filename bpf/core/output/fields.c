// SPDX-License-Identifier: GPL-2.0-only
// fields.c: print what several events have: times, tasks, stacks, cgroups, devices, contexts

#include "fields.h"

#include <stdio.h>
#include <string.h>

#include "json.h"
#include "kernel_symbols.h"

#define SHOWN_FRAMES 48

bool begins_with(const char *text, const char *head)
{
	return !strncmp(text, head, strlen(head));
}

void begin_span(const char *name, long long t_ns, long long ended_ns)
{
	json_begin(name);
	json_number("t_ns", t_ns);
	json_number("dur_ns", ended_ns - t_ns);
}

void print_task(int tid, int pid, const char *comm)
{
	json_number("tid", tid);
	json_number("pid", pid);
	json_text("comm", comm, COMM_BYTES);
}

/*
 * The tracer's own frames, innermost first: the program and its trampoline, with a name
 * or without, bpf_trace_run4 (kernel/trace/bpf_trace.c), and with two tracers on one
 * tracepoint the function that calls each of them.
 */
static bool is_own(const char *frame)
{
	static const char *const heads[] = {
		"0x", "bpf_prog_", "bpf_trampoline_", "bpf_trace_run", "__traceiter_",
		"__bpf_trace_",
	};

	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		if (begins_with(frame, heads[i]))
			return true;
	}
	return false;
}

void print_kernel_stack(const char *name, const unsigned long long *frames,
			unsigned int count)
{
	unsigned int shown = 0;

	json_open(name);
	for (unsigned int i = 0; i < count && shown < SHOWN_FRAMES; i++) {
		const char *text = symbol_frame(frames[i]);

		if (!shown && is_own(text))
			continue;
		json_item(text);
		shown++;
	}
	json_close();
}

void print_stack_of_kernel(const struct stacks *stacks)
{
	print_kernel_stack("kstack", stacks->frames + stacks->user, stacks->kernel);
}

void print_stack_of_waker(const struct stacks *stacks)
{
	print_kernel_stack("waker_kstack", stacks->frames + stacks->user + stacks->kernel,
			   stacks->waker);
}

/* Bare addresses: who reads the events may name them (trace/launcher/user_symbols.py). */
void print_stack_of_user(const struct stacks *stacks)
{
	const unsigned long long *frames = stacks->frames;
	char text[32];

	json_open("ustack");
	for (unsigned int i = 0; i < stacks->user && i < SHOWN_FRAMES && frames[i]; i++) {
		snprintf(text, sizeof(text), "0x%llx", frames[i]);
		json_item(text);
	}
	json_close();
}

void print_groups(const char *name, const char *name_v1, const struct groups *groups)
{
	json_id(name, groups->cgroup);
	json_id(name_v1, groups->io_hierarchy ? groups->io_cgroup : 0);
}

void print_device(unsigned int dev)
{
	char text[32];

	snprintf(text, sizeof(text), "%u:%u", dev >> 20, dev & 0xfffff);
	json_text_or_null("dev", dev ? text : NULL);
}

void print_context(const char *name, int context)
{
	static const char *const contexts[] = { "task", "softirq", "hardirq", "nmi" };

	json_text(name, contexts[context], SIZE_MAX);
}
