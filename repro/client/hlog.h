/* SPDX-License-Identifier: GPL-2.0-only */
/* hlog.h: write scheduled values to an HdrHistogram log */
#ifndef HLOG_H
#define HLOG_H

#include "client.h"

/* The value of one event in ns; negative if there is none. */
typedef int64_t value_of(const void *owner, int64_t seq);

struct series {
	const struct schedule *schedule;
	const void *owner;
	int64_t next;		/* used by write_histogram_log() */
};

/*
 * One interval per second, by intended start; no file if path is NULL. If the log
 * cannot be written, the program exits with its name and the reason.
 */
void write_histogram_log(const char *path, const char *what,
			 const struct timing *timing, struct series *series,
			 int64_t count, value_of *value_of);

#endif
