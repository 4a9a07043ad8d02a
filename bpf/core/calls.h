/* SPDX-License-Identifier: GPL-2.0-only */
/* calls.h: know the calls of a file system, docs/calls.toml */
#ifndef CALLS_H
#define CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "rows.h"

#define MOST_CALLS 256

struct call {
	const char *name;
	const char *function;	/* behind OF_CALL, call_probes.h */
	const char *group;
	int64_t number;
	unsigned char argument[HOW_ARGUMENTS];	/* its place, from 1 */
	bool position;
	bool stack;	/* the file is found on the kernel stack */
	bool shared;	/* and it has a shared mapping */
	bool flushes;	/* and it may be flushed before it is released */
	bool address;	/* the name is in a struct sockaddr */
	bool exact;	/* slow_writes shows it */
	bool entry;	/* stalled_writes probes its entry */
	enum keep keep;	/* what it is in a replay */
};

/* NULL where there is none of that number. */
const struct call *call_of_number(int64_t number);

/* Exits where one of the names and groups, with commas between, is none. */
void check_calls(const char *words);

/* Call `take` for each call of a script that is chosen; NULL chooses all. */
void for_chosen_calls(enum script script, const char *words,
		      void (*take)(const struct call *call, uint64_t how, void *data),
		      void *data);

#endif
