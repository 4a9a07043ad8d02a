// SPDX-License-Identifier: GPL-2.0-only
// options.c: parse the command line of safepoint

#include "safepoint.h"

#include "client/options.h"

static const struct row rows[] = {
	{ "path", TEXT, "PATH", FIELD(common.path), 0, 0, 0,
	  "the log, a new file" },
	{ "threads", NUMBER, "N", FIELD(threads), 1, 1, 1024,
	  "threads that work and are stopped; default 8" },
	{ "unit-interval-us", NUMBER, "US", FIELD(unit_interval_ns),
	  NSEC_PER_USEC, 10, HOUR_US,
	  "time between the units of work of a thread; default 10000" },
	{ "unit-us", NUMBER, "US", FIELD(unit_ns), NSEC_PER_USEC, 1, HOUR_US,
	  "CPU time of a unit; default 100" },
	{ "interval-us", NUMBER, "US", FIELD(interval_ns), NSEC_PER_USEC,
	  10, HOUR_US, "time between stops; default 50000" },
	{ "async", FLAG, NULL, FIELD(async), 0, 0, 0,
	  "a separate thread writes the log" },
	{ "queue-lines", NUMBER, "N", FIELD(queue_lines), 1, 1, 1000000,
	  "with --async: maximum of queued lines; default 1000" },
	{ "hlog-pause", TEXT, "FILE", FIELD(hlog_pause), 0, 0, 0,
	  "HdrHistogram log, ns from the request of a stop to its end" },
};

static const struct program program = {
	"Threads work until all are stopped together; one line is logged while "
	"they are stopped.",
	rows, sizeof(rows) / sizeof(rows[0]),
};

void read_options(int argc, char **argv, struct options *options)
{
	*options = (struct options){
		.common = common_defaults,
		.threads = 8,
		.unit_interval_ns = 10000 * NSEC_PER_USEC,
		.unit_ns = 100 * NSEC_PER_USEC,
		.interval_ns = 50000 * NSEC_PER_USEC,
		.queue_lines = 1000,
	};
	parse_options(argc, argv, &program, options);
}
