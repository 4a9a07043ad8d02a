// SPDX-License-Identifier: GPL-2.0-only
// report.c: write latwriter's logs and print its counts

#include "latwriter.h"

#include <inttypes.h>
#include <stdlib.h>

#include "client/report.h"

static int64_t end_ns(const struct sample *sample)
{
	return sample->start_ns + sample->write_ns + sample->fsync_ns;
}

/* Until the end of the write and its fsync. */
static int64_t latency_ns(const void *owner, int64_t seq)
{
	const struct writer *writer = owner;
	bool begun = seq < writer->schedule.begun;

	return latency_to(&writer->schedule, seq,
			  begun ? end_ns(&writer->samples[seq]) : 0);
}

/* The write call only; -1 for a write that never started. */
static int64_t service_ns(const void *owner, int64_t seq)
{
	const struct writer *writer = owner;

	return seq < writer->schedule.begun ?
		writer->samples[seq].write_ns : -1;
}

static bool write_line(const void *owner, int64_t seq,
		       struct client_write *line)
{
	const struct writer *writer = owner;
	const struct sample *sample = &writer->samples[seq];

	*line = (struct client_write){
		.seq = seq,
		.intended_ns = intended_ns(&writer->schedule, seq),
		.t_ns = sample->start_ns,
		.dur_ns = sample->write_ns,
		.tid = writer->tid,
		.call = writer->options->region_bytes ? "pwrite64" : "write",
		.path = writer->short_path,
		.offset = sample->offset,
		.bytes = writer->options->common.bytes,
		.ret = sample->ret,
	};
	return seq < writer->schedule.begun;
}

static void print_sample(FILE *file, const void *owner, int64_t seq)
{
	const struct writer *writer = owner;
	const struct common *common = &writer->options->common;
	const struct sample *sample = &writer->samples[seq];
	struct client_write line;

	if (!write_line(owner, seq, &line))
		return;
	print_if_notable(file, common, &line);
	line.call = "fsync";
	line.t_ns = sample->start_ns + sample->write_ns;
	line.dur_ns = sample->fsync_ns;
	line.bytes = 0;
	line.ret = sample->fsync_ret;
	if (sample->fsync_ns &&
	    (sample->fsync_ns >= common->slow_ns || sample->fsync_ret))
		print_client_write(file, &line);
}

static int64_t late_ns(const struct writer *writer)
{
	int64_t sum_ns = 0, free_ns = 0;

	for (int64_t seq = 0; seq < writer->schedule.begun; seq++) {
		const struct sample *sample = &writer->samples[seq];

		sum_ns += own_delay_ns(&writer->options->common,
				       intended_ns(&writer->schedule, seq),
				       free_ns, sample->start_ns);
		free_ns = end_ns(sample);
	}
	return sum_ns;
}

/* Reports an error that ended the writer; true if an fsync failed. */
static bool report_error(const struct writer *writer)
{
	const struct schedule *schedule = &writer->schedule;
	const struct sample *last;

	if (!schedule->begun)
		return false;
	last = &writer->samples[schedule->begun - 1];
	if (last->ret >= 0 && last->fsync_ret >= 0)
		return false;
	report_failure(last->ret < 0 ? "write" : "fsync", writer->path,
		       last->ret < 0 ? last->ret : last->fsync_ret,
		       schedule->begun, schedule->planned);
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
		.write_at = write_line,
		.print_at = print_sample,
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
