// SPDX-License-Identifier: GPL-2.0-only
// report.c: write safepoint's logs and print its counts

#include "safepoint.h"

#include <inttypes.h>

#include "client/report.h"

/* Until the end of a unit of work. */
static int64_t unit_latency_ns(const void *owner, int64_t seq)
{
	const struct worker *worker = owner;
	bool begun = seq < worker->schedule.begun;

	return latency_to(&worker->schedule, seq,
			  begun ? worker->done_ns[seq] : 0);
}

static int64_t pause_ns(const void *owner, int64_t seq)
{
	const struct application *app = owner;
	const struct pause *pause = &app->pauses[seq];

	return pause->requested_ns ?
		pause->released_ns - pause->requested_ns : -1;
}

static int64_t write_ns(const void *owner, int64_t seq)
{
	const struct application *app = owner;

	return service_ns_of(&app->pauses[seq].line);
}

static void write_hlogs(const struct application *app,
			const struct timing *timing, struct series *stops)
{
	const struct options *options = app->options;
	struct series *units = zeroed(options->threads, sizeof(*units),
				      "series");

	for (int64_t i = 0; i < options->threads; i++)
		units[i] = (struct series){ &app->workers[i].schedule,
					    &app->workers[i], 0 };
	write_histogram_log(options->common.hlog,
			    "of units of work from the intended start",
			    timing, units, options->threads, unit_latency_ns);
	write_histogram_log(options->common.hlog_service, "of the call",
			    timing, stops, 1, write_ns);
	write_histogram_log(options->hlog_pause, "of pauses", timing, stops, 1,
			    pause_ns);
}

static void fill_line(const void *owner, int64_t seq, struct client_write *line)
{
	const struct application *app = owner;

	line->tid = app->log.tid;
	line->path = app->log.target.short_path;
	line->written = app->pauses[seq].line;
}

static void print_pause(FILE *file, const struct application *app,
			int64_t seq)
{
	const struct pause *pause = &app->pauses[seq];

	fprintf(file, "{\"ev\":\"pause\",\"seq\":%" PRId64 ",\"t_ns\":%"
		PRId64 ",\"dur_ns\":%" PRId64 ",\"tid\":%" PRId32
		",\"reach_ns\":%" PRId64 ",\"log_ns\":%" PRId64
		",\"release_ns\":%" PRId64 ",\"threads\":%" PRId64
		",\"shortest_ns\":%" PRId64 "}\n", seq, pause->requested_ns,
		pause->released_ns - pause->requested_ns, app->tid,
		pause->reached_ns - pause->requested_ns,
		pause->logged_ns - pause->reached_ns,
		pause->released_ns - pause->logged_ns, pause->threads,
		pause->shortest_ns);
}

static void print_both(FILE *file, const void *owner,
		       const struct client_write *line)
{
	const struct application *app = owner;
	const struct common *common = &app->options->common;

	if (pause_ns(app, line->seq) >= common->slow_ns)
		print_pause(file, app, line->seq);
	print_if_notable(file, common, line);
}

static void report_error(const struct application *app)
{
	const struct log *log = &app->log;
	const struct written *last;

	if (!log->written)
		return;
	last = &log->queue[log->written - 1]->line;
	if (last->ret < 0)
		report_failure("write", log->target.path, last->ret, log->written,
			       app->schedule.planned);
}

static int64_t longest_pause_ns(const struct application *app)
{
	int64_t longest_ns = 0;

	for (int64_t seq = 0; seq < app->schedule.begun; seq++)
		if (pause_ns(app, seq) > longest_ns)
			longest_ns = pause_ns(app, seq);
	return longest_ns;
}

int report(const struct application *app, const struct timing *timing)
{
	const struct options *options = app->options;
	struct series stops = { &app->schedule, app, 0 };
	struct report report = {
		.common = &options->common,
		.timing = timing,
		.series = &stops,
		.count = 1,
		.write_at = fill_line,
		.print_lines = print_both,
	};

	write_hlogs(app, timing, &stops);
	add_up(&report);
	/* A scheduled time without a stop has no line. */
	report.totals.planned = app->stops;
	report.totals.missed = app->stops - app->log.written;
	report_error(app);
	return finish_report(&report,
			     join(",\"program\":\"%s\",\"interval_ns\":%" PRId64
				  ",\"bytes\":%" PRId64 ",\"threads\":%" PRId64
				  ",\"unit_interval_ns\":%" PRId64
				  ",\"unit_ns\":%" PRId64 ",\"slow_ns\":%"
				  PRId64 ",\"async\":%s", program_name,
				  options->interval_ns, options->common.bytes,
				  options->threads, options->unit_interval_ns,
				  options->unit_ns, options->common.slow_ns,
				  options->async ? "true" : "false"),
			     join(",\"pauses\":%" PRId64 ",\"dropped\":%"
				  PRId64, app->stops, app->log.dropped),
			     join("%" PRId64 " pauses, longest %.1f ms; ",
				  app->stops, longest_pause_ns(app) / 1e6));
}
