// SPDX-License-Identifier: GPL-2.0-only
// events.c: print the rows of the probes as the events of docs/events.md

#include "events.h"

#include <bpf/libbpf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#include "calls.h"
#include "fields.h"
#include "journal_events.h"
#include "json.h"
#include "kept_calls.h"
#include "kernel_symbols.h"
#include "paths.h"
#include "scripts.h"

#define LOCK_BITS 3ULL
#define OWNER_BITS 7ULL
#define READER_OWNED 1ULL	/* kernel/locking/rwsem.c: RWSEM_READER_OWNED */

static uint64_t lines_before, lost_events;
static bool is_throttling_known, are_calls_exact;
static const char *(*function_name)(unsigned int place);

void set_throttling_known(int is_known)
{
	is_throttling_known = is_known;
}

void set_function_names(const char *(*name)(unsigned int place))
{
	function_name = name;
}

int64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* What a lock's word says of the task that it names; NULL: it names none. */
static const char *holder_of(const struct block_row *row)
{
	uint64_t kind = row->blocker & LOCK_BITS;

	if (!(row->blocker & ~LOCK_BITS) || !(row->owner & ~OWNER_BITS))
		return NULL;
	if (kind == 1)
		return "last_holder";
	return kind && (row->owner & READER_OWNED) ? "reader" : "owner";
}

static void print_lock(const struct block_row *row)
{
	static const char *const kinds[] = {
		"mutex", "semaphore", "rwsem_read", "rwsem_write",
	};
	uint64_t at = row->futex ? row->futex : row->blocker & ~LOCK_BITS;
	const char *kind = row->futex ? "futex" : kinds[row->blocker & LOCK_BITS];
	const char *holder = holder_of(row);
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, at);
	json_text_or_null("lock", at ? kind : NULL);
	json_text_or_null("lock_at", at ? text : NULL);
	json_text_or_null("holder", holder);
	json_known("holder_tid", holder ? row->holder_tid : UNKNOWN);
	json_text_or_null("holder_comm", holder ? row->holder_comm : NULL);
}

static void print_block(const struct block_row *row)
{
	const struct stacks *stacks = &row->stacks;

	begin_span("block", row->t_ns, row->woken_ns);
	json_number("runq_ns", row->ran_ns - row->woken_ns);
	json_text("state", (const char[]){ row->state, 0 }, SIZE_MAX);
	print_task(row->tid, row->pid, row->comm);
	print_groups("cgroup", "cgroup_v1", &row->groups);
	print_stack_of_kernel(stacks);
	print_stack_of_user(stacks);
	print_lock(row);
	json_number("waker_tid", row->waker_tid);
	json_text("waker_comm", row->waker_comm, COMM_BYTES);
	print_context("waker_ctx", row->waker_context);
	print_groups("waker_cgroup", "waker_cgroup_v1", &row->waker_groups);
	print_stack_of_waker(stacks);
	json_end();
}

/*
 * A call that did not fall asleep where it must is none: io_uring_enter(2) in a request
 * that it tries itself, and a fault in its handler.
 */
static bool is_below(const struct write_row *row, const char *const heads[])
{
	for (unsigned int i = 0; i < row->stacks.kernel; i++) {
		const char *text = symbol_frame(row->stacks.frames[row->stacks.user + i]);

		for (const char *const *head = heads; *head; head++) {
			if (begins_with(text, *head))
				return true;
		}
	}
	return false;
}

static bool matches_stack(const struct write_row *row, const char *call)
{
	static const char *const requests[] = {
		"io_write+", "io_read+", "io_fsync+", "io_issue_sqe+", NULL,
	};
	static const char *const faults[] = { "handle_mm_fault+", NULL };

	if (!strcmp(call, "io_uring_enter"))
		return is_below(row, requests);
	return row->identity.call != CALL_FAULT || is_below(row, faults);
}

/* `dev`, `ino` and `path`; true: one of these is known. */
static bool print_place(const struct write_row *row, const struct call *call)
{
	bool is_by_path = call && call->argument[HOW_NAME] && row->identity.fd == UNKNOWN;
	bool is_file = !is_by_path && row->name[0];
	char path[PATH_BYTES];

	print_device(row->dev);
	if (is_file)
		json_unsigned("ino", row->ino);
	else
		json_null("ino");
	json_text_or_null("path", is_by_path ? absolute_path(row->name, row->folder, path) :
			  is_file ? path_of(row->folder, row->name, path) : NULL);
	return is_by_path || is_file;
}

static void print_write(const struct write_row *row)
{
	const struct call *call = call_of_number(row->identity.call);
	const struct stacks *stacks = &row->stacks;
	bool is_placed;

	if (!call || !matches_stack(row, call->name))
		return;
	begin_span("write", row->t_ns, row->end_ns);
	print_task(row->tid, row->pid, row->comm);
	json_text("call", call->name, SIZE_MAX);
	print_groups("cgroup", "cgroup_v1", &row->groups);
	json_known("fd", row->identity.fd);
	is_placed = print_place(row, call);
	json_known("offset", is_placed ? row->offset : UNKNOWN);
	json_known("bytes", row->bytes);
	if (are_calls_exact)
		json_number("ret", row->ret);
	else
		json_known("ret", row->ret);
	json_known("sleeps", row->sleeps);
	json_known("slept_ns", row->slept_ns);
	print_stack_of_kernel(stacks);
	print_stack_of_user(stacks);
	json_end();
}

static void print_inside(const struct inside_row *row)
{
	const struct write_row *call = &row->call;

	begin_span("call", call->t_ns, call->end_ns);
	print_task(call->tid, call->pid, call->comm);
	json_text("function", function_name(0), SIZE_MAX);
	print_place(call, call_of_number(call->identity.call));
	json_known("bytes", call->bytes);
	json_number("ret", call->ret);
	json_open("inside");
	for (unsigned int i = 1; i < row->inside.count; i++) {
		const struct node *node = &row->inside.nodes[i];

		json_object("function", function_name(node->function));
		json_unsigned("parent", node->parent);
		json_unsigned("calls", node->calls);
		json_number("dur_ns", node->sum_ns);
		json_object_end();
	}
	json_close();
	json_unsigned("left_out", row->inside.left_out);
	json_end();
}

static const char *operation(unsigned int op)
{
	static const char *const names[] = {
		[0] = "read", [1] = "write", [2] = "flush", [3] = "discard",
		[9] = "zeroes",
	};

	if (op < sizeof(names) / sizeof(*names) && names[op])
		return names[op];
	return "other";
}

static void print_flags(unsigned int flags)
{
	static const char *const names[] = { "preflush", "fua", "meta" };

	json_open("flags");
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (flags >> i & 1)
			json_item(names[i]);
	}
	json_close();
}

static void print_queue(const struct io_row *row)
{
	json_known("depth", row->depth ? (int64_t)row->depth : UNKNOWN);
	if (row->has_gap)
		json_number("gap", row->gap);
	else
		json_null("gap");
}

static void print_io(const struct io_row *row)
{
	begin_span("io", row->t_ns, row->ended_ns);
	print_task(row->tid, row->pid, row->comm);
	print_device(row->dev);
	json_text("op", operation(row->op), SIZE_MAX);
	print_flags(row->flags);
	json_unsigned("sector", row->sector);
	json_unsigned("bytes", row->bytes);
	print_queue(row);
	print_groups("cgroup", "cgroup_v1", &row->groups);
	json_known("throttled_ns", is_throttling_known ?
		   row->issued_ns - row->queued_ns : UNKNOWN);
	print_stack_of_kernel(&row->stacks);
	json_end();
}

/* The least latency of a bucket: bucket_of() in probes/ios.h. */
static uint64_t least_ns(unsigned int bucket)
{
	unsigned int power = bucket >> BUCKET_BITS;
	uint64_t part = bucket & ((1 << BUCKET_BITS) - 1);

	if (!bucket)
		return 0;
	return ((1ULL << BUCKET_BITS) + part) << (power + LEAST_POWER - BUCKET_BITS);
}

static void print_latencies(const struct ios_row *row)
{
	char text[48];

	json_open("latencies");
	for (unsigned int i = 0; i < BUCKETS; i++) {
		if (!row->counts[i])
			continue;
		snprintf(text, sizeof(text), "%" PRIu64 ":%u", least_ns(i), row->counts[i]);
		json_item(text);
	}
	json_close();
}

/* The least of each: count_depth() in probes/ios.h. */
static void print_depths(const struct ios_row *row)
{
	char text[64];

	json_open("depths");
	for (unsigned int i = 0; i < DEPTHS; i++) {
		if (!row->depths[i])
			continue;
		snprintf(text, sizeof(text), "%u:%u:%llu", 1U << i, row->depths[i],
			 row->depth_ns[i]);
		json_item(text);
	}
	json_close();
}

/* The least of each: count_gap() there. */
static void print_gaps(const struct ios_row *row)
{
	char text[32];

	json_open("gaps");
	for (unsigned int i = 0; i < GAPS; i++) {
		if (!row->gaps[i])
			continue;
		snprintf(text, sizeof(text), "%u:%u", i ? 1U << (i - 1) * GAP_BITS : 0,
			 row->gaps[i]);
		json_item(text);
	}
	json_close();
}

void print_ios(const struct ios_key *key, const struct ios_row *row, int64_t window_ns)
{
	uint64_t count = 0;

	for (unsigned int i = 0; i < BUCKETS; i++)
		count += row->counts[i];
	begin_span("ios", key->window * window_ns, (key->window + 1) * window_ns);
	print_device(key->dev);
	json_text("op", operation(key->op), SIZE_MAX);
	print_flags(key->flags);
	json_unsigned("count", count);
	json_unsigned("bytes", row->bytes);
	print_latencies(row);
	print_depths(row);
	print_gaps(row);
	json_end();
}

void print_row(const void *row)
{
	switch (*(const unsigned int *)row) {
	case ROW_BLOCK:
		print_block(row);
		break;
	case ROW_WRITE:
		print_write(row);
		break;
	case ROW_COMMIT:
		print_commit(row);
		break;
	case ROW_PAGE_LOCK:
		print_page_lock(row);
		break;
	case ROW_FILE:
		print_file(row);
		break;
	case ROW_INSIDE:
		print_inside(row);
		break;
	default:
		print_io(row);
	}
}

static void print_lost(uint64_t count, const char *what, const char *why)
{
	if (!count)
		return;
	json_begin("lost");
	json_number("t_ns", monotonic_ns());
	json_unsigned("count", count);
	json_text("what", what, SIZE_MAX);
	json_text("why", why, SIZE_MAX);
	json_end();
	lost_events += count;
}

void print_losses(const struct losses *losses)
{
	static struct losses reported;
	struct losses now = *(const volatile struct losses *)losses;

	print_lost(now.rows - reported.rows, "events", "the reader was too slow");
	print_lost(now.sleeps - reported.sleeps, "events",
		   "more sleeping tasks than map entries");
	print_lost(now.calls - reported.calls, "events",
		   "more sleeping calls than map entries");
	print_lost(now.ios - reported.ios, "ios", "more bios at a time than map entries");
	print_lost(now.windows - reported.windows, "ios",
		   "more disks, operations and windows of time than map entries");
	print_lost(now.queues - reported.queues, "depths",
		   "more devices than map entries");
	print_lost(now.submitters - reported.submitters, "stacks",
		   "more bios of kernel workers at a time than map entries");
	print_lost(now.stacks - reported.stacks, "stacks", "the kernel gave no stack");
	print_lost(now.locks - reported.locks, "locks",
		   "more tasks waiting for locks than map entries");
	print_lost(now.commits - reported.commits, "events",
		   "more commits at a time than map entries");
	print_lost(now.handles - reported.handles, "events",
		   "more cgroups in transactions than map entries");
	print_lost(now.journals - reported.journals, "events",
		   "more journals than map entries");
	print_lost(now.waits - reported.waits, "events",
		   "more tasks waiting for pages than map entries");
	print_lost(now.past - reported.past, "stacks",
		   "more sleeping tasks than are remembered");
	print_lost(now.drilled - reported.drilled, "events",
		   "more calls of the root at a time than map entries");
	print_lost(now.returns - reported.returns, "probes",
		   "more tasks inside a function than the kernel follows to its end");
	reported = now;
}

void print_missed(uint64_t missed)
{
	print_lost(missed, "probes", "a probe was hit while it ran on the same CPU");
}

void print_unseen_bios(void)
{
	print_lost(1, "probes", "this kernel allows no probe on submit_bio() or bio_endio():"
		   " there are no io events");
}

void print_begin(enum script script, const struct limits *limits)
{
	struct utsname kernel;
	char version[64];

	uname(&kernel);
	snprintf(version, sizeof(version), "libbpf %s", libbpf_version_string());
	json_begin("begin");
	json_number("t_ns", monotonic_ns());
	json_text("engine", "core", SIZE_MAX);
	json_text("engine_version", version, SIZE_MAX);
	json_text("script", script_name(script), SIZE_MAX);
	json_text("kernel", kernel.release, SIZE_MAX);
	json_number("floor_ns", limits->floor_ns);
	json_number("stall_ns", limits->stall_ns);
	json_end();
	lines_before = json_lines();
	are_calls_exact = script == SLOW_WRITES;
}

void print_end(void)
{
	json_begin("end");
	json_number("t_ns", monotonic_ns());
	json_unsigned("events", json_lines() - lines_before);
	json_unsigned("lost", lost_events);
	json_end();
}
