// SPDX-License-Identifier: GPL-2.0-only
// safepoint_report.c: pauses, lines and units to logs, words and an exit status

#include "safepoint.h"

#include <inttypes.h>
#include <stdlib.h>

#include "client/hlog.h"
#include "client/jsonl.h"

/* From when a unit was wanted to its end, or to the run's where none began. */
static int64_t unit_latency_ns(const void *owner, int64_t seq)
{
	const struct worker *worker = owner;
	const struct schedule *schedule = &worker->schedule;

	return (seq < schedule->begun ? worker->done_ns[seq] :
		schedule->stopped_ns) - intended_ns(schedule, seq);
}

static int64_t pause_ns(const void *owner, int64_t seq)
{
	const struct pause *pause = &((const struct pause *)owner)[seq];

	return pause->requested_ns ?
		pause->released_ns - pause->requested_ns : -1;
}

static int64_t write_ns(const void *owner, int64_t seq)
{
	const struct line *line = &((const struct pause *)owner)[seq].line;

	return line->start_ns ? line->write_ns : -1;
}

static void write_hlogs(const struct application *app,
			const struct timing *timing)
{
	const struct options *options = app->options;
	struct series *units = zeroed(options->threads, sizeof(*units),
				      "series");
	struct series lines = { &app->schedule, app->pauses, 0 };
	struct series stops = lines;

	for (int64_t i = 0; i < options->threads; i++)
		units[i] = (struct series){ &app->workers[i].schedule,
					    &app->workers[i], 0 };
	write_histogram_log(options->common.hlog,
			    "of units of work from the intended start",
			    timing, units, options->threads, unit_latency_ns);
	write_histogram_log(options->common.hlog_service, "of the call",
			    timing, &lines, 1, write_ns);
	write_histogram_log(options->hlog_pause, "of pauses", timing, &stops,
			    1, pause_ns);
	free(units);
}

static void print_line(FILE *file, const struct application *app, int64_t seq)
{
	const struct line *line = &app->pauses[seq].line;

	print_client_write(file, &(struct client_write){
		.seq = seq,
		.intended_ns = intended_ns(&app->schedule, seq),
		.t_ns = line->start_ns,
		.dur_ns = line->write_ns,
		.tid = app->log.tid,
		.call = "write",
		.path = app->log.short_path,
		.offset = line->offset,
		.bytes = app->options->common.bytes,
		.ret = line->ret,
	});
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

static void print_both(FILE *file, const struct application *app, int64_t seq)
{
	const struct common *common = &app->options->common;
	const struct line *line = &app->pauses[seq].line;

	if (pause_ns(app->pauses, seq) >= common->slow_ns)
		print_pause(file, app, seq);
	if (line->start_ns && is_notable(common, line->write_ns, line->ret))
		print_line(file, app, seq);
}

static void write_slow_log(const struct application *app, int64_t start_ns,
			   const struct totals *totals)
{
	const struct options *options = app->options;
	const char *path = options->common.slow_log;
	char *more;
	FILE *file;

	if (!path)
		return;
	file = open_log(path);
	fprintf(file, "{\"ev\":\"begin\",\"t_ns\":%" PRId64
		",\"program\":\"%s\",\"interval_ns\":%" PRId64 ",\"bytes\":%"
		PRId64 ",\"threads\":%" PRId64 ",\"unit_interval_ns\":%" PRId64
		",\"unit_ns\":%" PRId64 ",\"slow_ns\":%" PRId64
		",\"async\":%s}\n", start_ns,
		program_name, options->interval_ns, options->common.bytes,
		options->threads, options->unit_interval_ns, options->unit_ns,
		options->common.slow_ns,
		options->async ? "true" : "false");
	for (int64_t seq = 0; seq < app->schedule.begun; seq++)
		print_both(file, app, seq);
	more = join(",\"pauses\":%" PRId64 ",\"dropped\":%" PRId64,
		    app->stops, app->log.dropped);
	print_end(file, app->schedule.stopped_ns, totals, more);
	free(more);
	close_log(file, path);
}

/* A stop that was never asked for logged nothing: only its line is missed. */
static struct totals add_up(const struct application *app)
{
	struct totals totals = {
		.planned = app->stops,
		.missed = app->stops - app->log.written,
	};

	for (int64_t seq = 0; seq < app->schedule.begun; seq++) {
		const struct line *line = &app->pauses[seq].line;

		if (line->start_ns)
			add_write(&totals, &app->options->common,
				  line->write_ns, line->ret);
	}
	return totals;
}

static void report_failures(const struct application *app)
{
	const struct log *log = &app->log;
	const struct line *last;

	if (!log->written)
		return;
	last = &log->queue[log->written - 1]->line;
	if (last->ret < 0)
		report_failure("write", log->path, last->ret, log->written,
			       app->schedule.planned);
}

static int64_t longest_pause_ns(const struct application *app)
{
	int64_t longest_ns = 0;

	for (int64_t seq = 0; seq < app->schedule.begun; seq++)
		if (pause_ns(app->pauses, seq) > longest_ns)
			longest_ns = pause_ns(app->pauses, seq);
	return longest_ns;
}

int report(const struct application *app, const struct timing *timing)
{
	struct totals totals = add_up(app);

	write_hlogs(app, timing);
	write_slow_log(app, timing->start_ns, &totals);
	report_failures(app);
	return report_totals(&totals, join("%" PRId64 " pauses, longest %.1f "
					   "ms; ", app->stops,
					   longest_pause_ns(app) / 1e6));
}
