// SPDX-License-Identifier: GPL-2.0-only
// report.c: write what was recorded beside what was replayed, as JSON

#include "replay.h"
#include "client/jsonl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const names[OPERATIONS] = {
	[WRITE] = "write", [READ] = "read", [FSYNC] = "fsync", [FDATASYNC] = "fdatasync",
	[SYNC_RANGE] = "sync_range", [OPEN] = "open", [CLOSE] = "close",
	[UNLINK] = "unlink", [RENAME] = "rename", [TRUNCATE] = "truncate",
	[ALLOCATE] = "allocate", [SYNCFS] = "syncfs", [MSYNC] = "msync",
	[FAULT] = "fault",
};

static int by_value(const void *left, const void *right)
{
	return compared(*(const int64_t *)left, *(const int64_t *)right);
}

/* The value that so many of 1000 do not exceed. */
static int64_t quantile(const int64_t *values, uint32_t count, uint32_t permille)
{
	uint64_t at = ((uint64_t)count * permille + 999) / 1000;

	return count ? values[at ? at - 1 : 0] : 0;
}

static void print_values(FILE *file, const char *name, int64_t *values, uint32_t count,
			 int64_t stall_ns)
{
	int64_t stalled_ns = 0;
	uint32_t stalls = 0;

	qsort(values, count, sizeof(*values), by_value);
	for (uint32_t i = 0; i < count; i++) {
		if (values[i] >= stall_ns) {
			stalls++;
			stalled_ns += values[i];
		}
	}
	fprintf(file, "\"%s\":{\"p50_ns\":%" PRId64 ",\"p99_ns\":%" PRId64
		",\"p999_ns\":%" PRId64 ",\"max_ns\":%" PRId64 ",\"stalls\":%" PRIu32
		",\"stalled_ns\":%" PRId64 "}", name, quantile(values, count, 500),
		quantile(values, count, 990), quantile(values, count, 999),
		quantile(values, count, 1000), stalls, stalled_ns);
}

/* The calls of one kind; of none, nothing. */
static void print_operation(FILE *file, const struct load *load, int op, int64_t stall_ns,
			    int64_t *recorded, int64_t *replayed, bool *is_first)
{
	uint32_t count = 0, made = 0, failed = 0;

	for (uint32_t i = 0; i < load->count; i++) {
		const struct call *call = &load->calls[i];

		if (call->row.op != op)
			continue;
		recorded[count++] = recorded_ns(call);
		failed += call->failed;
		if (call->began_ns >= 0)
			replayed[made++] = call->took_ns;
	}
	if (!count)
		return;
	fprintf(file, "%s\n  {\"operation\":\"%s\",\"calls\":%" PRIu32 ",\"made\":%" PRIu32
		",\"failed\":%" PRIu32 ",", *is_first ? "" : ",", names[op], count, made,
		failed);
	print_values(file, "recorded", recorded, count, stall_ns);
	fputs(",", file);
	print_values(file, "replayed", replayed, made, stall_ns);
	fputs("}", file);
	*is_first = false;
}

/* How much later than recorded the calls began, and over what time they did. */
static void print_times(FILE *file, const struct load *load, int64_t *late)
{
	int64_t last_ns = 0, replayed_ns = 0;
	uint32_t made = 0;

	for (uint32_t i = 0; i < load->count; i++) {
		const struct call *call = &load->calls[i];

		if (call->row.op == WAKE)
			continue;
		if (call->row.t_ns > last_ns)
			last_ns = call->row.t_ns;
		if (call->began_ns < 0)
			continue;
		if (call->began_ns > replayed_ns)
			replayed_ns = call->began_ns;
		late[made++] = call->began_ns - call->row.t_ns;
	}
	qsort(late, made, sizeof(*late), by_value);
	fprintf(file, "\"calls\":%" PRIu32 ",\"made\":%" PRIu32 ",\"threads\":%" PRIu32
		",\"wakes\":%" PRIu32 ",\"recorded_ns\":%" PRId64 ",\"replayed_ns\":%" PRId64
		",\"late_p50_ns\":%" PRId64 ",\"late_p999_ns\":%" PRId64,
		load->count - load->wakes, made, load->thread_count, load->wakes, last_ns,
		replayed_ns, quantile(late, made, 500), quantile(late, made, 999));
}

void report(const struct load *load, const char *path, int64_t stall_ns)
{
	FILE *file = path ? open_log(path) : stdout;
	int64_t *recorded = zeroed(load->count + 1, sizeof(*recorded), "calls");
	int64_t *replayed = zeroed(load->count + 1, sizeof(*replayed), "calls");
	bool is_first = true;

	fputs("{", file);
	print_times(file, load, recorded);
	fprintf(file, ",\"skipped\":%" PRIu32 ",\"lost\":%" PRIu64 ",\"left_out\":%" PRIu64
		",\"stall_ns\":%" PRId64 ",\"operations\":[", load->skipped, load->head.lost,
		load->head.left_out, stall_ns);
	for (int op = WRITE; op < OPERATIONS; op++)
		print_operation(file, load, op, stall_ns, recorded, replayed, &is_first);
	fputs("\n]}\n", file);
	close_log(file, path ? path : "stdout");
	free(recorded);
	free(replayed);
}

void list_requests(const struct load *load, const char *path, int64_t end_ns)
{
	FILE *file = open_log(path);

	for (uint32_t i = 0; i < load->count; i++) {
		const struct call *call = &load->calls[i];
		bool made = call->began_ns >= 0;
		int64_t due_ns = load->start_ns + call->row.t_ns;
		int64_t began_ns = made ? load->start_ns + call->began_ns : end_ns;

		if (call->row.op != WAKE && due_ns < end_ns)
			fprintf(file, "{\"t_ns\":%" PRId64 ",\"dur_ns\":%" PRId64
				",\"intended_ns\":%" PRId64 ",\"tid\":%" PRId32
				",\"what\":\"%s\"}\n", began_ns, made ? call->took_ns : 0,
				due_ns, call->row.tid, names[call->row.op]);
	}
	close_log(file, path);
}
