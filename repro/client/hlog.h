/* SPDX-License-Identifier: GPL-2.0-only */
/* hlog.h: write scheduled values to an HdrHistogram log */
#ifndef HLOG_H
#define HLOG_H

#include "client.h"

/* ns of one scheduled thing; negative where there is nothing to count. */
typedef int64_t value_of(const void *owner, int64_t seq);

struct series {
	const struct schedule *schedule;
	const void *owner;
	int64_t next;		/* write_histogram_log()'s own */
};

/*
 * One interval a second, by when things were wanted; no file where path is
 * NULL. A log that cannot be written ends the program with
 * its name and the reason.
 */
void write_histogram_log(const char *path, const char *what,
			 const struct timing *timing, struct series *series,
			 int64_t count, value_of *value_of);

#endif
