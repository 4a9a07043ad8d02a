/* SPDX-License-Identifier: GPL-2.0-only */
/* safepoint.h: structures shared by the files of safepoint */
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

/*
 * One stop of all threads, or a scheduled time that was skipped because the previous
 * stop had not ended. requested <= reached <= logged <= released.
 */
struct pause {
	int64_t requested_ns;	/* 0: none; all are CLOCK_MONOTONIC */
	int64_t reached_ns;	/* the last thread has stopped */
	int64_t logged_ns;	/* the line is written, or queued */
	int64_t released_ns;
	int64_t threads;	/* number of stopped threads */
	int64_t shortest_ns;	/* shortest stop, as measured by the threads */
	struct written line;	/* the write(2) that appended its line */
};

/* A thread of the application, with its own schedule of units of work. */
struct worker {
	struct application *application;
	struct schedule schedule;
	int64_t *done_ns;	/* end of each started unit */
};

/* The log: its file, and with --async the queued lines. */
struct log {
	struct target target;
	const unsigned char *data;
	int32_t tid;		/* of the thread that writes */
	struct pause **queue;	/* pauses to log, in order; room for all */
	int64_t queued;		/* so far, without the dropped ones */
	_Atomic int64_t written;
	int64_t dropped;	/* because the queue was full */
	bool closed;		/* no more lines follow */
	pthread_mutex_t mutex;
	pthread_cond_t changed;
};

struct application {
	const struct options *options;
	struct worker *workers;
	struct log log;
	struct schedule schedule;	/* of pauses */
	struct pause *pauses;		/* one per time on the schedule */
	int64_t stops;			/* number of stops made */
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
	int64_t present;		/* running workers */
};

void read_options(int argc, char **argv, struct options *options);

/* log.c: write or queue the line of a pause; the logger thread of --async */
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
