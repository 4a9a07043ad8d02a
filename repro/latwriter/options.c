// SPDX-License-Identifier: GPL-2.0-only
// options.c: parse the command line of latwriter

#include "latwriter.h"

#include <inttypes.h>

#include "client/options.h"

static const struct row rows[] = {
	{ "path", TEXT, "PATH", FIELD(common.path), 0, 0, 0, 0,
	  "new file, or a directory for writer-0.log, writer-1.log, ..." },
	{ "writers", NUMBER, "N", FIELD(writers), 1, 1, 1024, 1,
	  "threads, each on its own schedule and file" },
	{ "shared-file", FLAG, NULL, FIELD(shared_file), 0, 0, 0, 0,
	  "all threads write one file" },
	{ "interval-us", NUMBER, "US", FIELD(interval_ns), NSEC_PER_USEC,
	  10, HOUR_US, 1000, "time between the writes of a thread" },
	{ "append", FLAG, NULL, FIELD(append), 0, 0, 0, 0,
	  "write(2) at the end of the file (O_APPEND); the default" },
	{ "pwrite", NUMBER, "REGION_BYTES", FIELD(region_bytes), 1,
	  1, 1LL << 40, 0,
	  "pwrite(2) at random multiples of --bytes below this" },
	{ "fsync-every", NUMBER, "N", FIELD(fsync_every), 1, 0, INT32_MAX, 0,
	  "fsync(2) after every Nth write; default 0, never" },
};

static const struct program program = {
	"Writes on a fixed schedule and measures how late each write ended.",
	rows, sizeof(rows) / sizeof(rows[0]),
};

void read_options(int argc, char **argv, struct options *options)
{
	parse_options(argc, argv, &program, options);
	if (options->append && options->region_bytes)
		die(EXIT_USAGE, "--append and --pwrite exclude each other");
	if (options->region_bytes &&
	    options->region_bytes < options->common.bytes)
		die(EXIT_USAGE, "--pwrite: a region of %" PRId64 " bytes holds"
		    " no write of %" PRId64, options->region_bytes,
		    options->common.bytes);
}
