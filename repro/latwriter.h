/* SPDX-License-Identifier: GPL-2.0-only */
/* latwriter.h: what the parts of latwriter share */
#ifndef LATWRITER_H
#define LATWRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>

#define NSEC_PER_USEC 1000LL
#define NSEC_PER_SEC 1000000000LL

enum exit_status {
	EXIT_OK = 0,
	EXIT_WRITES_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_BY_SIGNAL = 128,	/* plus the signal's number */
};

struct options {
	const char *path;
	const char *hlog;
	const char *hlog_service;
	const char *slow_log;
	int64_t writers;
	int64_t bytes;
	int64_t interval_ns;
	int64_t duration_ns;
	int64_t region_bytes;	/* 0: append */
	int64_t fsync_every;	/* 0: never */
	int64_t slow_ns;
	int64_t seed;
	int64_t append;
	int64_t shared_file;
};

/* One scheduled write that began. Its intended start is intended_ns(). */
struct sample {
	int64_t start_ns;	/* CLOCK_MONOTONIC */
	int64_t write_ns;
	int64_t fsync_ns;	/* 0 where no fsync followed */
	int64_t offset;		/* known for slow, short and failed writes */
	int32_t ret;		/* bytes, or a negative errno */
	int32_t fsync_ret;
};

struct writer {
	const struct options *options;
	const unsigned char *data;
	char *path;
	char *short_path;	/* parent folder and name */
	int fd;
	int64_t index;
	pthread_t thread;
	int32_t tid;
	int64_t first_ns;	/* intended start of write 0 */
	int64_t end_ns;		/* no write begins later */
	int64_t stopped_ns;
	int64_t planned;	/* writes on the schedule */
	int64_t begun;
	int64_t missed;		/* wanted before stopped_ns, never begun */
	struct sample *samples;	/* planned of them, begun are filled */
};

/* Sums over all writers, for the last line and the exit status. */
struct totals {
	int64_t planned;
	int64_t writes;
	int64_t slow;
	int64_t missed;
	int64_t failed;		/* negative returns, fsync included */
	int64_t shortened;
	int64_t slowest_ns;
	int64_t late_ns;	/* the writers' own delays, no call's */
};

static inline int64_t intended_ns(const struct writer *writer, int64_t seq)
{
	return writer->first_ns + seq * writer->options->interval_ns;
}

static inline bool write_is_notable(const struct options *options,
				    const struct sample *sample)
{
	return sample->write_ns >= options->slow_ns ||
	       sample->ret != options->bytes;
}

noreturn void die(int status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void parse_options(int argc, char **argv, struct options *options);

struct totals add_up(const struct writer *writers,
		     const struct options *options);

/* Says how the run went on stderr; the exit status. stop_signal: 0 for none. */
int report(const struct writer *writers, const struct options *options,
	   const struct totals *totals, int stop_signal);

/*
 * Both write what the run's record asks for and leave nothing half said: a
 * log that cannot be written ends the program with its name and the reason.
 */
void write_histogram_logs(const struct options *options,
			  const struct writer *writers, int64_t start_ns,
			  int64_t start_realtime_ns);
void write_slow_log(const struct options *options,
		    const struct writer *writers, int64_t start_ns,
		    const struct totals *totals);

#endif
