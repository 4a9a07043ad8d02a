/* SPDX-License-Identifier: GPL-2.0-only */
/* broker.h: structures shared by the files of broker */
#ifndef BROKER_H
#define BROKER_H

#include "client/client.h"

struct options {
	struct common common;	/* first: parse_options() */
	int64_t threads;
	int64_t partitions;
	int64_t interval_ns;
};

/* A request; latency counts from intended_ns(). All times are CLOCK_MONOTONIC. */
struct request {
	int64_t free_ns;	/* its thread has finished the previous one */
	int64_t dequeued_ns;	/* a thread takes it; 0: never started */
	struct written written;	/* from when that thread has the partition's lock */
	int32_t tid;
	int32_t partition;
};

struct partition {
	struct target target;
	pthread_mutex_t mutex;	/* held during the whole write */
};

struct broker {
	const struct options *options;
	const unsigned char *data;
	struct partition *partitions;
	struct schedule schedule;
	struct request *requests;	/* one per time on the schedule */
	uint64_t cgroup;		/* its own; 0: not known */
	_Atomic int64_t taken;		/* the queue's head: the next request */
};

/* The id of its cgroup of version 2, the number of the folder's inode; 0: not found. */
uint64_t own_cgroup(void);

void read_options(int argc, char **argv, struct options *options);

/*
 * Writes the requested logs and prints the counts to stderr. Returns the exit
 * status.
 */
int report(const struct broker *broker, const struct timing *timing);

#endif
