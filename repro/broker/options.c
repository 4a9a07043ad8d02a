// SPDX-License-Identifier: GPL-2.0-only
// options.c: parse the command line of broker

#include "broker.h"

#include "client/options.h"

static const struct row rows[] = {
	{ "path", TEXT, "PATH", FIELD(common.path), 0, 0, 0, 0,
	  "the logs are new files PATH-0/00000000.log, PATH-1/..., ..." },
	{ "partitions", NUMBER, "N", FIELD(partitions), 1, 1, 1024, 4,
	  "logs, each with its own lock" },
	{ "threads", NUMBER, "N", FIELD(threads), 1, 1, 1024, 8,
	  "threads that serve requests" },
	{ "interval-us", NUMBER, "US", FIELD(interval_ns), NSEC_PER_USEC,
	  10, HOUR_US, 1000, "time between the arrivals of requests" },
};

static const struct program program = {
	"Requests arrive on a schedule and append to partitions, one at a time "
	"to each.",
	rows, sizeof(rows) / sizeof(rows[0]),
};

void read_options(int argc, char **argv, struct options *options)
{
	parse_options(argc, argv, &program, options);
}
