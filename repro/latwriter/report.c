// SPDX-License-Identifier: GPL-2.0-only
// report.c: write latwriter's logs and print its counts

#include "latwriter.h"

#include <inttypes.h>
#include <stdlib.h>

#include "client/report.h"

static int64_t end_ns(const struct sample *sample)
{
	return ended_ns(&sample->written) + sample->fsync_ns;
}

/* Until the end of the write and its fsync. */
static int64_t latency_ns(const void *owner, int64_t seq)
{
	const struct writer *writer = owner;
	bool begun = seq < writer->schedule.begun;

	return latency_to(&writer->schedule, seq,
			  begun ? end_ns(&writer->samples[seq]) : 0);
}

/* The write call only. */
static int64_t service_ns(const void *owner, int64_t seq)
{
	const struct writer *writer = owner;

	return service_ns_of(&writer->samples[seq].written);
}

static void fill_line(const void *owner, int64_t seq, struct client_write *line)
{
	const struct writer *writer = owner;

	line->tid = writer->tid;
	line->path = writer->target.short_path;
	line->written = writer->samples[seq].written;
	if (!writer->target.appends)
		line->call = "pwrite64";
}

static void print_sample(FILE *file, const void *owner,
			 const struct client_write *line)
{
	const struct writer *writer = owner;
	const struct common *common = &writer->options->common;
	const struct sample *sample = &writer->samples[line->seq];
	struct client_write sync = *line;

	print_if_notable(file, common, line);
	sync.call = "fsync";
	sync.bytes = 0;
	sync.written.start_ns = ended_ns(&line->written);
	sync.written.dur_ns = sample->fsync_ns;
	sync.written.ret = sample->fsync_ret;
	if (sample->fsync_ns &&
	    (sample->fsync_ns >= common->slow_ns || sample->fsync_ret))
		print_client_write(file, &sync);
}

static int64_t late_ns(const struct writer *writer)
{
	int64_t sum_ns = 0, free_ns = 0;

	for (int64_t seq = 0; seq < writer->schedule.begun; seq++) {
		const struct sample *sample = &writer->samples[seq];

		sum_ns += own_delay_ns(&writer->options->common,
				       intended_ns(&writer->schedule, seq),
				       free_ns, sample->written.start_ns);
		free_ns = end_ns(sample);
	}
	return sum_ns;
}

/* Reports an error that ended the writer; true if an fsync failed. */
static bool report_error(const struct writer *writer)
{
	const struct schedule *schedule = &writer->schedule;
	const struct sample *last;
	int32_t ret;

	if (!schedule->begun)
		return false;
	last = &writer->samples[schedule->begun - 1];
	ret = last->written.ret;
	if (ret >= 0 && last->fsync_ret >= 0)
		return false;
	report_failure(ret < 0 ? "write" : "fsync", writer->target.path,
		       ret < 0 ? ret : last->fsync_ret, schedule->begun,
		       schedule->planned);
	return last->fsync_ret < 0;
}

int report(const struct writer *writers, const struct options *options,
	   const struct timing *timing)
{
	const struct common *common = &options->common;
	int64_t count = options->writers, sum_ns = 0;
	struct report report = {
		.common = common,
		.timing = timing,
		.series = zeroed(count, sizeof(*report.series), "series"),
		.count = count,
		.write_at = fill_line,
		.print_lines = print_sample,
	};

	for (int64_t i = 0; i < count; i++) {
		report.series[i].schedule = &writers[i].schedule;
		report.series[i].owner = &writers[i];
		sum_ns += late_ns(&writers[i]);
	}
	write_histogram_log(common->hlog, "from the intended start", timing,
			    report.series, count, latency_ns);
	write_histogram_log(common->hlog_service, "of the call", timing,
			    report.series, count, service_ns);
	add_up(&report);
	for (int64_t i = 0; i < count; i++)
		report.totals.failed += report_error(&writers[i]);
	return finish_report(&report,
			     join(",\"interval_ns\":%" PRId64 ",\"bytes\":%"
				  PRId64 ",\"writers\":%" PRId64,
				  options->interval_ns, common->bytes, count),
			     join(",\"late_ns\":%" PRId64, sum_ns), NULL);
}
