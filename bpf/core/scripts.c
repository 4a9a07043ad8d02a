// SPDX-License-Identifier: GPL-2.0-only
// scripts.c: name what the program traces, and say which options each has

#include "scripts.h"

#include <string.h>

#include "log.h"

#define HAS(kind) (1 << (kind))

static const struct {
	const char *name;
	unsigned int options;
} scripts[SCRIPTS] = {
	[STALLED_WRITES] = {
		"stalled_writes",
		HAS(ABOUT_SLEEPS) | HAS(ABOUT_STALLS) | HAS(ABOUT_IOS) | HAS(ABOUT_TASKS) |
			HAS(ABOUT_CALLS) | HAS(ABOUT_WAITS),
	},
	[SLOW_WRITES] = {
		"slow_writes", HAS(ABOUT_STALLS) | HAS(ABOUT_TASKS) | HAS(ABOUT_CALLS),
	},
	[PAGE_LOCKS] = { "page_locks", HAS(ABOUT_SLEEPS) },
	[JOURNAL_COMMITS] = { "journal_commits", HAS(ABOUT_SLEEPS) },
	[DRILLDOWN] = {
		"drilldown",
		HAS(ABOUT_SLEEPS) | HAS(ABOUT_STALLS) | HAS(ABOUT_TASKS) | HAS(ABOUT_FUNCTIONS),
	},
};

const char *script_name(enum script script)
{
	return scripts[script].name;
}

enum script script_named(const char *name)
{
	for (int i = 0; i < SCRIPTS; i++) {
		if (!strcmp(scripts[i].name, name))
			return i;
	}
	die(EXIT_USAGE, "%s: no such script; try --help", name);
}

bool has_option(enum script script, enum option_kind kind)
{
	return scripts[script].options & HAS(kind);
}
