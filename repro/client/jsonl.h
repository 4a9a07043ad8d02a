/* SPDX-License-Identifier: GPL-2.0-only */
/* jsonl.h: a client's record (docs/events.md) and its last words */
#ifndef JSONL_H
#define JSONL_H

#include <stdio.h>

#include "client.h"

/* Sums over all writes, for the last line and the exit status. */
struct totals {
	int64_t planned;
	int64_t writes;
	int64_t slow;
	int64_t missed;
	int64_t failed;		/* negative returns, fsync included */
	int64_t shortened;
	int64_t slowest_ns;
};

struct client_write {
	int64_t seq;
	int64_t intended_ns;
	int64_t t_ns;
	int64_t dur_ns;
	int32_t tid;
	const char *call;
	const char *path;
	int64_t offset;
	int64_t bytes;
	int32_t ret;
};

/* Both end the program where the file cannot be written. */
FILE *open_log(const char *path);
void close_log(FILE *file, const char *path);

void print_json_string(FILE *file, const char *string);
void print_client_write(FILE *file, const struct client_write *line);

/* The last line; `more` are further fields, each with its comma before it. */
void print_end(FILE *file, int64_t t_ns, const struct totals *totals,
	       const char *more);

/* Adds a write of `wanted` bytes that returned `ret`. */
void add_write(struct totals *totals, const struct common *common,
	       int64_t dur_ns, int32_t ret);

/* Slow, short or failed: worth a line and its offset. */
static inline bool is_notable(const struct common *common, int64_t dur_ns,
			      int32_t ret)
{
	return dur_ns >= common->slow_ns || ret != common->bytes;
}

/* Where an append of `ret` bytes (or of none) began, asked right behind it. */
int64_t appended_at(int fd, int32_t ret);

/* One line for a write that ended its writer; of `of` in all. */
void report_failure(const char *call, const char *path, int32_t ret,
		    int64_t at, int64_t of);

/* Says how the run went on stderr, `more` before it; the exit status. */
int report_totals(const struct totals *totals, const char *more);

#endif
