/* SPDX-License-Identifier: GPL-2.0-only */
/* options.h: read the command line */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stdint.h>

#include "output/events.h"
#include "rows.h"

/* What is to be shown; 0 or NULL: all. */
struct options {
	enum script script;
	struct limits limits;
	int64_t series_ns;
	int64_t calls_bytes;	/* most of all calls that are kept for a replay; 0: none are */
	int32_t pid;
	const char *comm;
	int32_t waits_pid;
	const char *waits_comm;
	const char *calls;
	const char *functions;	/* the root, then those below it: drilling.h */
	uint32_t device;
	uint64_t inode;
};

/* Exits on --help, --version and on bad usage; opens --output as stdout. */
void read_options(int argc, char **argv, struct options *options);

#endif
