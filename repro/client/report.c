// SPDX-License-Identifier: GPL-2.0-only
// report.c: the report of all clients: slow log, counts, exit status

#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void add_write(struct totals *totals, const struct common *common,
		      const struct written *written)
{
	if (!written->start_ns)
		return;
	totals->writes++;
	totals->slow += written->dur_ns >= common->slow_ns;
	totals->failed += written->ret < 0;
	totals->shortened += written->ret >= 0 && written->ret < common->bytes;
	if (written->dur_ns > totals->slowest_ns)
		totals->slowest_ns = written->dur_ns;
}

static struct client_write line_at(const struct report *report,
				   const struct series *series, int64_t seq)
{
	struct client_write line = {
		.seq = seq,
		.intended_ns = intended_ns(series->schedule, seq),
		.bytes = report->common->bytes,
		.call = "write",
	};

	report->write_at(series->owner, seq, &line);
	return line;
}

void add_up(struct report *report)
{
	for (int64_t i = 0; i < report->count; i++) {
		const struct series *series = &report->series[i];
		const struct schedule *schedule = series->schedule;

		report->totals.planned += schedule->planned;
		report->totals.missed += schedule->missed;
		for (int64_t seq = 0; seq < schedule->planned; seq++) {
			struct client_write line = line_at(report, series, seq);

			add_write(&report->totals, report->common,
				  &line.written);
		}
	}
}

void print_if_notable(FILE *file, const struct common *common,
		      const struct client_write *line)
{
	if (line->written.start_ns && is_notable(common, &line->written))
		print_client_write(file, line);
}

int64_t latency_to(const struct schedule *schedule, int64_t seq,
		   int64_t end_ns)
{
	return (end_ns ? end_ns : schedule->stopped_ns) -
	       intended_ns(schedule, seq);
}

int64_t own_delay_ns(const struct common *common, int64_t intended_ns,
		     int64_t free_ns, int64_t begun_ns)
{
	int64_t delay_ns = begun_ns -
			   (free_ns > intended_ns ? free_ns : intended_ns);

	return delay_ns < common->slow_ns ? 0 : delay_ns;
}

void report_failure(const char *call, const char *path, int32_t ret,
		    int64_t at, int64_t of)
{
	fprintf(stderr, "%s: %s %s: %s, at write %" PRId64 " of %" PRId64 "\n",
		program_name, call, path, strerror(-ret), at, of);
}

static void write_slow_log(const struct report *report, const char *first,
			   const char *last)
{
	const char *path = report->common->slow_log;
	const struct totals *totals = &report->totals;
	int64_t end_ns = report->timing->start_ns;
	FILE *file;

	if (!path)
		return;
	file = open_log(path);
	fprintf(file, "{\"ev\":\"begin\",\"t_ns\":%" PRId64 "%s}\n", end_ns,
		first);
	for (int64_t i = 0; i < report->count; i++) {
		const struct series *series = &report->series[i];
		const struct schedule *schedule = series->schedule;

		for (int64_t seq = 0; seq < schedule->planned; seq++) {
			struct client_write line = line_at(report, series, seq);

			report->print_lines(file, series->owner, &line);
		}
		if (schedule->stopped_ns > end_ns)
			end_ns = schedule->stopped_ns;
	}
	fprintf(file, "{\"ev\":\"end\",\"t_ns\":%" PRId64 ",\"writes\":%"
		PRId64 ",\"slow\":%" PRId64 ",\"missed\":%" PRId64
		",\"failed\":%" PRId64 ",\"short\":%" PRId64 "%s}\n", end_ns,
		totals->writes, totals->slow, totals->missed, totals->failed,
		totals->shortened, last);
	close_log(file, path);
}

int finish_report(const struct report *report, char *first, char *last,
		  char *summary)
{
	const struct totals *totals = &report->totals;

	write_slow_log(report, first, last);
	fprintf(stderr, "%s: %s%" PRId64 " of %" PRId64 " writes, %" PRId64
		" slow, slowest %.1f ms, %" PRId64 " missed, %" PRId64
		" short, %" PRId64 " failed\n", program_name, summary ? summary : "",
		totals->writes, totals->planned, totals->slow,
		totals->slowest_ns / 1e6, totals->missed, totals->shortened,
		totals->failed);
	free(first);
	free(last);
	free(summary);
	if (totals->failed || totals->shortened)
		return EXIT_WRITES_FAILED;
	return stop_signal() ? EXIT_BY_SIGNAL + stop_signal() : EXIT_OK;
}
