/* SPDX-License-Identifier: GPL-2.0-only */
/* scripts.h: name what the program traces, and say which options each has */
#ifndef SCRIPTS_H
#define SCRIPTS_H

#include <stdbool.h>

#include "rows.h"

const char *script_name(enum script script);

/* Exits where there is none of that name. */
enum script script_named(const char *name);

enum option_kind {
	ABOUT_SLEEPS, ABOUT_STALLS, ABOUT_IOS, ABOUT_TASKS, ABOUT_CALLS, ABOUT_WAITS,
	ABOUT_FUNCTIONS,
};

bool has_option(enum script script, enum option_kind kind);

#endif
