// SPDX-License-Identifier: GPL-2.0-only
// hlog.c: write an HdrHistogram log with one interval a second

#include "hlog.h"
#include "jsonl.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <hdr/hdr_histogram.h>
#include <hdr/hdr_histogram_log.h>

#define HIGHEST_NS (24 * 3600 * NSEC_PER_SEC)
#define SIGNIFICANT_DIGITS 3

static hdr_timespec to_timespec(int64_t ns)
{
	return (hdr_timespec){
		.tv_sec = ns / NSEC_PER_SEC,
		.tv_nsec = ns % NSEC_PER_SEC,
	};
}

static void record_until(struct hdr_histogram *histogram,
			 struct series *series, int64_t until_ns,
			 value_of *value_of)
{
	const struct schedule *schedule = series->schedule;
	int64_t last = schedule->begun + schedule->missed;

	for (; series->next < last &&
	       intended_ns(schedule, series->next) < until_ns; series->next++) {
		int64_t value_ns = value_of(series->owner, series->next);

		if (value_ns >= 0)
			hdr_record_value(histogram, value_ns);
	}
}

static void write_intervals(FILE *file, const char *path,
			    const struct timing *timing, struct series *series,
			    int64_t count, value_of *value_of)
{
	struct hdr_histogram *histogram = NULL;
	struct hdr_log_writer log;

	if (hdr_init(1, HIGHEST_NS, SIGNIFICANT_DIGITS, &histogram))
		die(EXIT_WRITES_FAILED, "%s: %s", path, strerror(ENOMEM));
	hdr_log_writer_init(&log);
	for (int64_t i = 0; i < count; i++)
		series[i].next = 0;
	for (int64_t at_ns = 0; at_ns < timing->duration_ns;
	     at_ns += NSEC_PER_SEC) {
		hdr_timespec from = to_timespec(at_ns);
		hdr_timespec length = to_timespec(NSEC_PER_SEC);

		hdr_reset(histogram);
		for (int64_t i = 0; i < count; i++)
			record_until(histogram, &series[i],
				     timing->start_ns + at_ns + NSEC_PER_SEC,
				     value_of);
		if (histogram->total_count &&
		    hdr_log_write(&log, file, &from, &length, histogram))
			die(EXIT_WRITES_FAILED, "%s: %s", path,
			    strerror(errno));
	}
	hdr_close(histogram);
}

void write_histogram_log(const char *path, const char *what,
			 const struct timing *timing, struct series *series,
			 int64_t count, value_of *value_of)
{
	hdr_timespec realtime = to_timespec(timing->start_realtime_ns);
	struct hdr_log_writer log;
	char note[128];
	FILE *file;

	if (!path)
		return;
	file = open_log(path);
	snprintf(note, sizeof(note),
		 "%s: ns %s; start is CLOCK_MONOTONIC %" PRId64 " ns",
		 program_name, what, timing->start_ns);
	hdr_log_writer_init(&log);
	if (hdr_log_write_header(&log, file, note, &realtime))
		die(EXIT_WRITES_FAILED, "%s: %s", path, strerror(errno));
	write_intervals(file, path, timing, series, count, value_of);
	close_log(file, path);
}
