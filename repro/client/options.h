/* SPDX-License-Identifier: GPL-2.0-only */
/* options.h: a program's table of options */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "client.h"

#define HOUR_US 3600000000LL
#define MAX_BYTES (16LL << 20)
#define FIELD(name) offsetof(struct options, name) /* of a program */

enum kind { FLAG, TEXT, NUMBER };

/* One row per option: source of getopt's table, the help text and the checks. */
struct row {
	const char *name;
	enum kind kind;
	const char *argument;
	size_t field;		/* in the program's options */
	int64_t scale;		/* from the option's unit to the field's */
	int64_t min;
	int64_t max;
	int64_t standard;	/* of a NUMBER, what it is by default; 0: not said */
	const char *help;
};

/* A program's own options, in addition to the common ones. */
struct program {
	const char *purpose;	/* one sentence */
	const struct row *rows;
	size_t row_count;
};

/*
 * Fills `options`, a struct that begins with struct common and is zero. Exits on
 * --help and on bad usage.
 */
void parse_options(int argc, char **argv, const struct program *program,
		   void *options);

#endif
