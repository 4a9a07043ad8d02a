/* SPDX-License-Identifier: GPL-2.0-only */
/* latwriter.h: structures shared by the files of latwriter */
#ifndef LATWRITER_H
#define LATWRITER_H

#include "client/client.h"

struct options {
	struct common common;	/* first: parse_options() */
	int64_t writers;
	int64_t interval_ns;
	int64_t region_bytes;	/* 0: append */
	int64_t fsync_every;	/* 0: never */
	int64_t append;
	int64_t shared_file;
};

/* A scheduled write that was started. Its intended start is intended_ns(). */
struct sample {
	struct written written;
	int64_t fsync_ns;	/* 0 if no fsync followed */
	int32_t fsync_ret;
};

struct writer {
	const struct options *options;
	const unsigned char *data;
	struct target target;
	int64_t index;
	int32_t tid;
	struct schedule schedule;
	struct sample *samples;	/* of all planned writes; filled if started */
};

void read_options(int argc, char **argv, struct options *options);

/*
 * Writes the requested logs and prints the counts to stderr. Returns the exit
 * status.
 */
int report(const struct writer *writers, const struct options *options,
	   const struct timing *timing);

#endif
