/* SPDX-License-Identifier: GPL-2.0-only */
/* safepoint.h: what the parts of safepoint share */
#ifndef SAFEPOINT_H
#define SAFEPOINT_H

#include "client/client.h"

struct options {
	struct common common;	/* first: parse_options() */
	int64_t threads;
	int64_t unit_interval_ns;
	int64_t unit_ns;
	int64_t interval_ns;
	int64_t async;		/* 0: the stopping thread writes itself */
	int64_t queue_lines;
	const char *hlog_pause;
};

/* One line of the log and the write(2) that appended it. */
struct line {
	int64_t start_ns;	/* 0: never written */
	int64_t write_ns;
	int64_t offset;		/* known for slow, short and failed writes */
	int32_t ret;		/* bytes, or a negative errno */
};

/*
 * One stop of all threads, or a time at which none could be asked for because
 * the one before was not over. requested <= reached <= logged <= released.
 */
struct pause {
	int64_t requested_ns;	/* 0: none; CLOCK_MONOTONIC as the others */
	int64_t reached_ns;	/* the last thread has stopped */
	int64_t logged_ns;	/* the line is written, or queued */
	int64_t released_ns;
	int64_t threads;	/* that stood still */
	int64_t shortest_ns;	/* stop of any of them, by its own clock */
	struct line line;
};

/* A thread of the application: units of work on a schedule of its own. */
struct worker {
	struct application *application;
	struct schedule schedule;
	int64_t *done_ns;	/* of each unit begun: its end */
};

/* The log: its file, and with --async the lines on their way to it. */
struct log {
	char *path;
	char *short_path;
	const unsigned char *data;
	int fd;
	int32_t tid;		/* of the thread that writes */
	struct pause **queue;	/* whose lines, in order; room for all */
	int64_t queued;		/* so far, the dropped left out */
	_Atomic int64_t written;
	int64_t dropped;	/* for want of room in the queue */
	bool closed;		/* no line follows */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
};

struct application {
	const struct options *options;
	struct worker *workers;
	struct log log;
	struct schedule schedule;	/* of pauses */
	struct pause *pauses;		/* one per time on the schedule */
	int64_t stops;			/* that were made */
	int32_t tid;			/* of the thread that stops all */

	/* The safepoint. */
	pthread_mutex_t mutex;
	pthread_cond_t called;
	pthread_cond_t arrived;
	pthread_cond_t released;
	int64_t wanted;			/* number of the last stop, from 1 */
	struct pause *pause;		/* that stop */
	int64_t released_number;	/* of the last stop that ended */
	int64_t stopped;
	int64_t present;		/* workers that have not ended */
};

void read_options(int argc, char **argv, struct options *options);

/* safepoint_log.c: takes a pause's line; the logger thread of --async. */
void log_line(struct application *application, struct pause *pause);
void *write_lines(void *argument);
void close_queue(struct log *log);

/*
 * Writes the requested logs and prints the counts to stderr. Returns the exit
 * status.
 */
int report(const struct application *application,
	   const struct timing *timing);

#endif
