// SPDX-License-Identifier: GPL-2.0-only
// options.c: parse the command line, with a program's and the common options

#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMON(name) offsetof(struct common, name)
#define MAX_ROWS 32

static const struct row common_rows[] = {
	{ "bytes", NUMBER, "BYTES", COMMON(bytes), 1, 1, MAX_BYTES,
	  200, "size of a write" },
	{ "duration-s", NUMBER, "S", COMMON(duration_ns), NSEC_PER_SEC,
	  1, 86400, 10, "no write starts later than this" },
	{ "slow-us", NUMBER, "US", COMMON(slow_ns), NSEC_PER_USEC, 0, HOUR_US,
	  50000, "log to --slow-log what took this long" },
	{ "hlog", TEXT, "FILE", COMMON(hlog), 0, 0, 0, 0,
	  "HdrHistogram log, ns from the intended start" },
	{ "hlog-service", TEXT, "FILE", COMMON(hlog_service), 0, 0, 0, 0,
	  "HdrHistogram log, ns of the write call only" },
	{ "slow-log", TEXT, "FILE", COMMON(slow_log), 0, 0, 0, 0,
	  "what was slow, short or failed, JSON Lines (docs/events.md)" },
	{ "seed", NUMBER, "N", COMMON(seed), 1, 0, INT64_MAX,
	  1, "seed of the data and of all choices" },
	{ "help", FLAG, NULL, 0, 0, 0, 0, 0, "this text" },
};

#define COMMON_ROWS (sizeof(common_rows) / sizeof(common_rows[0]))

static const struct row *row_at(const struct program *program, size_t i)
{
	return i < program->row_count ? &program->rows[i] :
		&common_rows[i - program->row_count];
}

static noreturn void print_help(const struct program *program)
{
	printf("usage: %s --path PATH [OPTION]...\n%s\n\n", program_name,
	       program->purpose);
	for (size_t i = 0; i < program->row_count + COMMON_ROWS; i++) {
		const struct row *row = row_at(program, i);

		printf("  --%-17s%-13s %s", row->name,
		       row->argument ? row->argument : "", row->help);
		if (row->standard)
			printf("; default %" PRId64, row->standard);
		putchar('\n');
	}
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

static int64_t *number_in(void *options, const struct row *row)
{
	return (int64_t *)((char *)options + row->field);
}

static void set_field(void *options, const struct row *row,
		      const char *argument)
{
	if (row->kind == TEXT)
		*(const char **)((char *)options + row->field) = argument;
	else
		*number_in(options, row) = row->kind == FLAG ?
			1 : parse_number(row, argument);
}

void parse_options(int argc, char **argv, const struct program *program,
		   void *options)
{
	size_t rows = program->row_count + COMMON_ROWS;
	struct option getopt_rows[MAX_ROWS + 1] = { 0 };
	int row;

	for (size_t i = 0; i < rows; i++) {
		const struct row *each = row_at(program, i);

		getopt_rows[i] = (struct option){
			.name = each->name,
			.has_arg = each->kind != FLAG,
		};
		if (each->kind == NUMBER)
			*number_in(options, each) = each->standard * each->scale;
	}
	opterr = 0;	/* die() prints the one line */
	for (;;) {
		int found = getopt_long(argc, argv, "", getopt_rows, &row);

		if (found == -1)
			break;
		if (found)
			die(EXIT_USAGE, "%s: unknown, or used in a wrong way; "
			    "see %s --help", argv[optind - 1], program_name);
		if (row == (int)rows - 1)
			print_help(program);
		set_field(options, row_at(program, row), optarg);
	}
	if (optind < argc)
		die(EXIT_USAGE, "'%s': no argument is expected here; see %s "
		    "--help", argv[optind], program_name);
	if (!((struct common *)options)->path)
		die(EXIT_USAGE, "--path is missing: name a new file or a "
		    "directory");
}
