/* SPDX-License-Identifier: GPL-2.0-only */
/* report.h: the report of all clients: slow log, counts, exit status */
#ifndef REPORT_H
#define REPORT_H

#include "hlog.h"
#include "jsonl.h"

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

/* Fills what differs by program: thread, path, `written`, a call but write(2). */
typedef void write_at(const void *owner, int64_t seq,
		      struct client_write *line);

/* Prints the lines of a write in the slow log, if any. */
typedef void print_lines(FILE *file, const void *owner,
			 const struct client_write *line);

struct report {
	const struct common *common;
	const struct timing *timing;
	struct series *series;		/* the schedules of the writes */
	int64_t count;
	write_at *write_at;
	print_lines *print_lines;
	struct totals totals;
};

/* The duration of a call; -1 for one that never started. */
static inline int64_t service_ns_of(const struct written *written)
{
	return written->start_ns ? written->dur_ns : -1;
}

/* Fills the totals. */
void add_up(struct report *report);

/* Prints the line of a write that started, if it was slow, short or failed. */
void print_if_notable(FILE *file, const struct common *common,
		      const struct client_write *line);

/*
 * From the intended start to `end_ns`. An event that never started (0) waited at
 * least until the end of the run; leaving it out would make the last stall look
 * shorter than it was.
 */
int64_t latency_to(const struct schedule *schedule, int64_t seq,
		   int64_t end_ns);

/*
 * How long an event was due and its thread was free, before it started: a delay of
 * the client, not of the file. On a busy machine a thread may wake some ms late, so
 * only delays of at least --slow-us count.
 */
int64_t own_delay_ns(const struct common *common, int64_t intended_ns,
		     int64_t free_ns, int64_t begun_ns);

/* Prints on stderr which write ended its writer: number `at` of `of`. */
void report_failure(const char *call, const char *path, int32_t ret,
		    int64_t at, int64_t of);

/*
 * Writes the slow log, with the additional fields `first` and `last` (each preceded
 * by its comma) in the first and last line; prints the counts to stderr, preceded by
 * `summary` if there is one. Frees all three. Returns the exit status.
 */
int finish_report(const struct report *report, char *first, char *last,
		  char *summary);

#endif
