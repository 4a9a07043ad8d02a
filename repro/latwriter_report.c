// SPDX-License-Identifier: GPL-2.0-only
// latwriter_report.c: a run's samples to totals, words and an exit status

#include "latwriter.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * How long a write could have begun and did not: its time had come and the
 * one before had ended. That is the writer's doing, not the file's. A thread
 * wakes some ms late on any busy machine: only what looks like a slow call
 * counts.
 */
static int64_t own_delay_ns(const struct writer *writer, int64_t seq)
{
	int64_t ready_ns = intended_ns(writer, seq);
	int64_t delay_ns;

	if (seq) {
		const struct sample *last = &writer->samples[seq - 1];
		int64_t end_ns = last->start_ns + last->write_ns +
				 last->fsync_ns;

		if (end_ns > ready_ns)
			ready_ns = end_ns;
	}
	delay_ns = writer->samples[seq].start_ns - ready_ns;
	return delay_ns < writer->options->slow_ns ? 0 : delay_ns;
}

static void add_sample(struct totals *totals, const struct options *options,
		       const struct sample *sample)
{
	totals->writes++;
	totals->slow += sample->write_ns >= options->slow_ns;
	totals->failed += (sample->ret < 0) + (sample->fsync_ret < 0);
	totals->shortened += sample->ret >= 0 && sample->ret < options->bytes;
	if (sample->write_ns > totals->slowest_ns)
		totals->slowest_ns = sample->write_ns;
}

struct totals add_up(const struct writer *writers,
		     const struct options *options)
{
	struct totals totals = { 0 };

	for (int64_t i = 0; i < options->writers; i++) {
		totals.planned += writers[i].planned;
		totals.missed += writers[i].missed;
		for (int64_t seq = 0; seq < writers[i].begun; seq++) {
			add_sample(&totals, options, &writers[i].samples[seq]);
			totals.late_ns += own_delay_ns(&writers[i], seq);
		}
	}
	return totals;
}

/* One line for each writer that an error ended. */
static void report_failures(const struct writer *writers,
			    const struct options *options)
{
	for (int64_t i = 0; i < options->writers; i++) {
		const struct writer *writer = &writers[i];
		const struct sample *last;

		if (!writer->begun)
			continue;
		last = &writer->samples[writer->begun - 1];
		if (last->ret < 0 || last->fsync_ret < 0)
			fprintf(stderr, "latwriter: %s %s: %s, at write %"
				PRId64 " of %" PRId64 "\n",
				last->ret < 0 ? "write" : "fsync",
				writer->path,
				strerror(last->ret < 0 ? -last->ret :
					 -last->fsync_ret),
				writer->begun, writer->planned);
	}
}

int report(const struct writer *writers, const struct options *options,
	   const struct totals *totals, int stop_signal)
{
	report_failures(writers, options);
	fprintf(stderr, "latwriter: %" PRId64 " of %" PRId64 " writes, %"
		PRId64 " slow, slowest %.1f ms, %" PRId64 " missed, %" PRId64
		" short, %" PRId64 " failed\n", totals->writes,
		totals->planned, totals->slow, totals->slowest_ns / 1e6,
		totals->missed, totals->shortened, totals->failed);
	if (totals->failed || totals->shortened)
		return EXIT_WRITES_FAILED;
	return stop_signal ? EXIT_BY_SIGNAL + stop_signal : EXIT_OK;
}
