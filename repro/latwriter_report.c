// SPDX-License-Identifier: GPL-2.0-only
// latwriter_report.c: a run's samples to its logs, words and an exit status

#include "latwriter.h"

#include <inttypes.h>
#include <stdlib.h>

#include "client/hlog.h"
#include "client/jsonl.h"

/*
 * How long a write could have begun and did not: its time had come and the
 * one before had ended. That is the writer's doing, not the file's. A thread
 * wakes some ms late on any busy machine: only what looks like a slow call
 * counts.
 */
static int64_t own_delay_ns(const struct writer *writer, int64_t seq)
{
	int64_t ready_ns = intended_ns(&writer->schedule, seq);
	int64_t delay_ns;

	if (seq) {
		const struct sample *last = &writer->samples[seq - 1];
		int64_t end_ns = last->start_ns + last->write_ns +
				 last->fsync_ns;

		if (end_ns > ready_ns)
			ready_ns = end_ns;
	}
	delay_ns = writer->samples[seq].start_ns - ready_ns;
	return delay_ns < writer->options->common.slow_ns ? 0 : delay_ns;
}

/*
 * From the intended start to the end of the write and its fsync. A write that
 * never began waited at least until the run's end: leaving it out would make
 * the last stall look shorter than it was.
 */
static int64_t latency_ns(const void *owner, int64_t seq)
{
	const struct writer *writer = owner;
	const struct sample *sample = &writer->samples[seq];
	int64_t end_ns = writer->schedule.stopped_ns;

	if (seq < writer->schedule.begun)
		end_ns = sample->start_ns + sample->write_ns +
			 sample->fsync_ns;
	return end_ns - intended_ns(&writer->schedule, seq);
}

/* The write call alone; -1 for a write that never began. */
static int64_t service_ns(const void *owner, int64_t seq)
{
	const struct writer *writer = owner;

	return seq < writer->schedule.begun ?
		writer->samples[seq].write_ns : -1;
}

static void write_hlog(const char *path, const char *what,
		       const struct writer *writers, int64_t count,
		       const struct timing *timing, value_of *value_of)
{
	struct series *series = zeroed(count, sizeof(*series), "series");

	for (int64_t i = 0; i < count; i++)
		series[i] = (struct series){ &writers[i].schedule,
					     &writers[i], 0 };
	write_histogram_log(path, what, timing, series, count, value_of);
	free(series);
}

static void print_sample(FILE *file, const struct writer *writer, int64_t seq)
{
	const struct common *common = &writer->options->common;
	const struct sample *sample = &writer->samples[seq];
	struct client_write line = {
		.seq = seq,
		.intended_ns = intended_ns(&writer->schedule, seq),
		.t_ns = sample->start_ns,
		.dur_ns = sample->write_ns,
		.tid = writer->tid,
		.call = writer->options->region_bytes ? "pwrite64" : "write",
		.path = writer->short_path,
		.offset = sample->offset,
		.bytes = common->bytes,
		.ret = sample->ret,
	};

	if (is_notable(common, sample->write_ns, sample->ret))
		print_client_write(file, &line);
	line.call = "fsync";
	line.t_ns = sample->start_ns + sample->write_ns;
	line.dur_ns = sample->fsync_ns;
	line.bytes = 0;
	line.ret = sample->fsync_ret;
	if (sample->fsync_ns &&
	    (sample->fsync_ns >= common->slow_ns || sample->fsync_ret))
		print_client_write(file, &line);
}

static int64_t late_ns(const struct writer *writers, int64_t count)
{
	int64_t sum_ns = 0;

	for (int64_t i = 0; i < count; i++)
		for (int64_t seq = 0; seq < writers[i].schedule.begun; seq++)
			sum_ns += own_delay_ns(&writers[i], seq);
	return sum_ns;
}

static void write_slow_log(const struct options *options,
			   const struct writer *writers, int64_t start_ns,
			   const struct totals *totals)
{
	const char *path = options->common.slow_log;
	int64_t last_ns = start_ns;
	char *more;
	FILE *file;

	if (!path)
		return;
	file = open_log(path);
	fprintf(file, "{\"ev\":\"begin\",\"t_ns\":%" PRId64
		",\"interval_ns\":%" PRId64 ",\"bytes\":%" PRId64
		",\"writers\":%" PRId64 "}\n", start_ns, options->interval_ns,
		options->common.bytes, options->writers);
	for (int64_t i = 0; i < options->writers; i++) {
		for (int64_t seq = 0; seq < writers[i].schedule.begun; seq++)
			print_sample(file, &writers[i], seq);
		if (writers[i].schedule.stopped_ns > last_ns)
			last_ns = writers[i].schedule.stopped_ns;
	}
	more = join(",\"late_ns\":%" PRId64,
		    late_ns(writers, options->writers));
	print_end(file, last_ns, totals, more);
	free(more);
	close_log(file, path);
}

static struct totals add_up(const struct writer *writers,
			    const struct options *options)
{
	struct totals totals = { 0 };

	for (int64_t i = 0; i < options->writers; i++) {
		const struct schedule *schedule = &writers[i].schedule;

		totals.planned += schedule->planned;
		totals.missed += schedule->missed;
		for (int64_t seq = 0; seq < schedule->begun; seq++) {
			const struct sample *sample = &writers[i].samples[seq];

			add_write(&totals, &options->common,
				  sample->write_ns, sample->ret);
			totals.failed += sample->fsync_ret < 0;
		}
	}
	return totals;
}

/* One line for each writer that an error ended. */
static void report_failures(const struct writer *writers, int64_t count)
{
	for (int64_t i = 0; i < count; i++) {
		const struct schedule *schedule = &writers[i].schedule;
		const struct sample *last;

		if (!schedule->begun)
			continue;
		last = &writers[i].samples[schedule->begun - 1];
		if (last->ret < 0 || last->fsync_ret < 0)
			report_failure(last->ret < 0 ? "write" : "fsync",
				       writers[i].path, last->ret < 0 ?
				       last->ret : last->fsync_ret,
				       schedule->begun, schedule->planned);
	}
}

int report(const struct writer *writers, const struct options *options,
	   const struct timing *timing)
{
	struct totals totals = add_up(writers, options);

	write_hlog(options->common.hlog, "from the intended start", writers,
		   options->writers, timing, latency_ns);
	write_hlog(options->common.hlog_service, "of the call", writers,
		   options->writers, timing, service_ns);
	write_slow_log(options, writers, timing->start_ns, &totals);
	report_failures(writers, options->writers);
	return report_totals(&totals, "");
}
