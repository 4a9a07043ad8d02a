/* SPDX-License-Identifier: GPL-2.0-only */
/* events.h: print the rows of the probes as the events of docs/events.md */
#ifndef EVENTS_H
#define EVENTS_H

#include <stdint.h>

#include "rows.h"

struct limits {
	int64_t floor_ns;
	int64_t stall_ns;
	int64_t io_ns;
};

int64_t monotonic_ns(void);

void print_begin(enum script script, const struct limits *limits);
void print_row(const void *row);
/* Bios of a window of time, of that length. */
void print_ios(const struct ios_key *key, const struct ios_row *row, int64_t window_ns);
/* What the probes have lost since it was called last. */
void print_losses(const struct losses *losses);
/* The same of missed_runs(). */
void print_missed(uint64_t missed);
/* Bios cannot be traced here: there are no `io` events. */
void print_unseen_bios(void);
void print_end(void);

/* Of a drill-down, by their places in --functions. */
void set_function_names(const char *(*name)(unsigned int place));

/* Whether throtl_qnode_add_bio() is traced; else it is unknown what it kept back. */
void set_throttling_known(int is_known);

#endif
