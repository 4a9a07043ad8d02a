// SPDX-License-Identifier: GPL-2.0-only
// options.c: parse the command line of safepoint

#include "safepoint.h"

#include "client/options.h"

static const struct row rows[] = {
	{ "path", TEXT, "PATH", FIELD(common.path), 0, 0, 0, 0,
	  "the log, a new file" },
	{ "threads", NUMBER, "N", FIELD(threads), 1, 1, 1024, 8,
	  "threads that work and are stopped" },
	{ "unit-interval-us", NUMBER, "US", FIELD(unit_interval_ns),
	  NSEC_PER_USEC, 10, HOUR_US, 10000,
	  "time between the units of work of a thread" },
	{ "unit-us", NUMBER, "US", FIELD(unit_ns), NSEC_PER_USEC, 1, HOUR_US,
	  100, "CPU time of a unit" },
	{ "interval-us", NUMBER, "US", FIELD(interval_ns), NSEC_PER_USEC,
	  10, HOUR_US, 50000, "time between stops" },
	{ "async", FLAG, NULL, FIELD(async), 0, 0, 0, 0,
	  "a separate thread writes the log" },
	{ "queue-lines", NUMBER, "N", FIELD(queue_lines), 1, 1, 1000000,
	  1000, "with --async: maximum of queued lines" },
	{ "hlog-pause", TEXT, "FILE", FIELD(hlog_pause), 0, 0, 0, 0,
	  "HdrHistogram log, ns from the request of a stop to its end" },
};

static const struct program program = {
	"Threads work until all are stopped together; one line is logged while "
	"they are stopped.",
	rows, sizeof(rows) / sizeof(rows[0]),
};

void read_options(int argc, char **argv, struct options *options)
{
	parse_options(argc, argv, &program, options);
}
