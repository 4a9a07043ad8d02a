// SPDX-License-Identifier: GPL-2.0-only
// log.c: write the line of a pause, at once or in a separate thread

#include "safepoint.h"

#include <unistd.h>

/* The first failed write ends the run: later latencies would be those of errors. */
static void write_line(struct application *app)
{
	struct log *log = &app->log;
	struct written *line = &log->queue[log->written]->line;

	timed_write(&log->target, &app->options->common, log->data, line);
	log->written++;
	if (line->ret < 0)
		stop_all();
}

/* A full queue drops the line, as -Xlog:async does: no thread waits. */
static void queue_line(struct application *app, struct pause *pause)
{
	struct log *log = &app->log;

	pthread_mutex_lock(&log->mutex);
	if (log->queued - log->written < app->options->queue_lines)
		log->queue[log->queued++] = pause;
	else
		log->dropped++;
	pthread_cond_signal(&log->changed);
	pthread_mutex_unlock(&log->mutex);
}

void log_line(struct application *app, struct pause *pause)
{
	if (app->options->async) {
		queue_line(app, pause);
	} else {
		app->log.tid = app->tid;
		app->log.queue[app->log.queued++] = pause;
		write_line(app);
	}
}

/* False when no more lines can follow. */
static bool wait_for_line(struct log *log)
{
	bool more;

	pthread_mutex_lock(&log->mutex);
	while (log->written == log->queued && !log->closed)
		pthread_cond_wait(&log->changed, &log->mutex);
	more = log->written < log->queued;
	pthread_mutex_unlock(&log->mutex);
	return more;
}

/* The logger thread: writes queued lines until no more can follow. */
void *write_lines(void *argument)
{
	struct application *app = argument;
	struct log *log = &app->log;

	log->tid = gettid();
	while (wait_for_line(log)) {
		write_line(app);
		if (log->queue[log->written - 1]->line.ret < 0)
			break;
	}
	return NULL;
}

void close_queue(struct log *log)
{
	pthread_mutex_lock(&log->mutex);
	log->closed = true;
	pthread_cond_signal(&log->changed);
	pthread_mutex_unlock(&log->mutex);
}
