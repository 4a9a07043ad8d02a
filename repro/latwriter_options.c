// SPDX-License-Identifier: GPL-2.0-only
// latwriter_options.c: the command line to struct options

#include "latwriter.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { FLAG, TEXT, NUMBER };

/* One row per option: getopt's table, the help text and the checks. */
struct row {
	const char *name;
	enum kind kind;
	const char *argument;
	size_t field;
	int64_t scale;		/* from the option's unit to the field's */
	int64_t min;
	int64_t max;
	const char *help;
};

#define FIELD(name) offsetof(struct options, name)
#define HOUR_US 3600000000LL
#define MAX_BYTES (16LL << 20)

static const struct row rows[] = {
	{ "path", TEXT, "PATH", FIELD(path), 0, 0, 0,
	  "new file, or a directory for writer-0.log, writer-1.log, ..." },
	{ "writers", NUMBER, "N", FIELD(writers), 1, 1, 1024,
	  "threads, each on its own schedule and file; default 1" },
	{ "shared-file", FLAG, NULL, FIELD(shared_file), 0, 0, 0,
	  "all threads write one file" },
	{ "bytes", NUMBER, "BYTES", FIELD(bytes), 1, 1, MAX_BYTES,
	  "size of a write; default 200" },
	{ "interval-us", NUMBER, "US", FIELD(interval_ns), NSEC_PER_USEC,
	  10, HOUR_US,
	  "a thread's writes are wanted this far apart; default 1000" },
	{ "duration-s", NUMBER, "S", FIELD(duration_ns), NSEC_PER_SEC,
	  1, 86400,
	  "no write begins later than this; default 10" },
	{ "append", FLAG, NULL, FIELD(append), 0, 0, 0,
	  "write(2) at the end of the file (O_APPEND); the default" },
	{ "pwrite", NUMBER, "REGION_BYTES", FIELD(region_bytes), 1,
	  1, 1LL << 40,
	  "pwrite(2) at random multiples of --bytes below this" },
	{ "fsync-every", NUMBER, "N", FIELD(fsync_every), 1, 0, INT32_MAX,
	  "fsync(2) after every Nth write; default 0, never" },
	{ "slow-us", NUMBER, "US", FIELD(slow_ns), NSEC_PER_USEC, 0, HOUR_US,
	  "calls that took this long go to --slow-log; default 50000" },
	{ "hlog", TEXT, "FILE", FIELD(hlog), 0, 0, 0,
	  "HdrHistogram log, ns from the intended start" },
	{ "hlog-service", TEXT, "FILE", FIELD(hlog_service), 0, 0, 0,
	  "HdrHistogram log, ns of the call alone" },
	{ "slow-log", TEXT, "FILE", FIELD(slow_log), 0, 0, 0,
	  "slow, short and failed calls, JSON Lines (docs/events.md)" },
	{ "seed", NUMBER, "N", FIELD(seed), 1, 0, INT64_MAX,
	  "of the data and of --pwrite's offsets; default 1" },
	{ "help", FLAG, NULL, 0, 0, 0, 0, "this text" },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))
#define HELP (ROWS - 1)

static const struct options defaults = {
	.writers = 1,
	.bytes = 200,
	.interval_ns = 1000 * NSEC_PER_USEC,
	.duration_ns = 10 * NSEC_PER_SEC,
	.slow_ns = 50000 * NSEC_PER_USEC,
	.seed = 1,
};

static noreturn void print_help(void)
{
	printf("usage: latwriter --path PATH [OPTION]...\n"
	       "Writes on a schedule that waits for nobody and measures how "
	       "late each write ended.\n\n");
	for (size_t i = 0; i < ROWS; i++)
		printf("  --%-13s%-13s %s\n", rows[i].name,
		       rows[i].argument ? rows[i].argument : "",
		       rows[i].help);
	printf("\nexit status: 0 all writes done or missed, 1 a write or log "
	       "failed or came up short,\n2 bad usage, 128 + N ended in "
	       "order by signal N. No log is written before the last write.\n");
	exit(EXIT_OK);
}

static int64_t parse_number(const struct row *row, const char *text)
{
	char *end;
	long long number;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (errno || end == text || *end || number < row->min ||
	    number > row->max)
		die(EXIT_USAGE, "--%s: '%s': want %s from %" PRId64 " to %"
		    PRId64, row->name, text, row->argument, row->min,
		    row->max);
	return number * row->scale;
}

static void set_field(struct options *options, const struct row *row,
		      const char *argument)
{
	char *field = (char *)options + row->field;

	if (row->kind == TEXT)
		*(const char **)field = argument;
	else
		*(int64_t *)field = row->kind == FLAG ?
			1 : parse_number(row, argument);
}

static void check_together(const struct options *options)
{
	if (!options->path)
		die(EXIT_USAGE, "--path is missing: name a new file or a "
		    "directory");
	if (options->append && options->region_bytes)
		die(EXIT_USAGE, "--append and --pwrite exclude each other");
	if (options->region_bytes && options->region_bytes < options->bytes)
		die(EXIT_USAGE, "--pwrite: a region of %" PRId64 " bytes holds"
		    " no write of %" PRId64, options->region_bytes,
		    options->bytes);
}

void parse_options(int argc, char **argv, struct options *options)
{
	struct option getopt_rows[ROWS + 1] = { 0 };
	int row;

	for (size_t i = 0; i < ROWS; i++)
		getopt_rows[i] = (struct option){
			.name = rows[i].name,
			.has_arg = rows[i].kind != FLAG,
		};
	*options = defaults;
	for (;;) {
		int found = getopt_long(argc, argv, "", getopt_rows, &row);

		if (found == -1)
			break;
		if (found)
			die(EXIT_USAGE, "see latwriter --help");
		if (row == HELP)
			print_help();
		set_field(options, &rows[row], optarg);
	}
	if (optind < argc)
		die(EXIT_USAGE, "'%s': no argument is expected here; see "
		    "latwriter --help", argv[optind]);
	check_together(options);
}
