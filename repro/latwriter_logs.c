// SPDX-License-Identifier: GPL-2.0-only
// latwriter_logs.c: a run's samples to HdrHistogram logs and JSON Lines

#include "latwriter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hdr/hdr_histogram.h>
#include <hdr/hdr_histogram_log.h>

#define HIGHEST_NS (24 * 3600 * NSEC_PER_SEC)
#define SIGNIFICANT_DIGITS 3

static FILE *open_log(const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file)
		die(EXIT_WRITES_FAILED, "%s: %s", path, strerror(errno));
	return file;
}

static void close_log(FILE *file, const char *path)
{
	bool failed = ferror(file);

	if (fclose(file) || failed)
		die(EXIT_WRITES_FAILED, "%s: %s", path, strerror(errno));
}

static hdr_timespec to_timespec(int64_t ns)
{
	return (hdr_timespec){
		.tv_sec = ns / NSEC_PER_SEC,
		.tv_nsec = ns % NSEC_PER_SEC,
	};
}

/*
 * From the intended start to the end of the write and its fsync. A write that
 * never began waited at least until the run's end: leaving it out would make
 * the last stall look shorter than it was.
 */
static int64_t latency_ns(const struct writer *writer, int64_t seq)
{
	const struct sample *sample = &writer->samples[seq];
	int64_t end_ns = writer->stopped_ns;

	if (seq < writer->begun)
		end_ns = sample->start_ns + sample->write_ns +
			 sample->fsync_ns;
	return end_ns - intended_ns(writer, seq);
}

/* The write call alone; -1 for a write that never began. */
static int64_t service_ns(const struct writer *writer, int64_t seq)
{
	return seq < writer->begun ? writer->samples[seq].write_ns : -1;
}

typedef int64_t value_of(const struct writer *writer, int64_t seq);

/* Records the writes wanted before until_ns; returns the first one behind. */
static int64_t record_until(struct hdr_histogram *histogram,
			    const struct writer *writer, int64_t seq,
			    int64_t until_ns, value_of *value_of)
{
	int64_t last = writer->begun + writer->missed;

	for (; seq < last && intended_ns(writer, seq) < until_ns; seq++) {
		int64_t value_ns = value_of(writer, seq);

		if (value_ns >= 0)
			hdr_record_value(histogram, value_ns);
	}
	return seq;
}

static void write_intervals(FILE *file, const char *path,
			    const struct options *options,
			    const struct writer *writers, int64_t start_ns,
			    value_of *value_of)
{
	int64_t *next = calloc(options->writers, sizeof(*next));
	struct hdr_histogram *histogram = NULL;
	struct hdr_log_writer log;

	if (!next || hdr_init(1, HIGHEST_NS, SIGNIFICANT_DIGITS, &histogram))
		die(EXIT_WRITES_FAILED, "%s: %s", path, strerror(ENOMEM));
	hdr_log_writer_init(&log);
	for (int64_t at_ns = 0; at_ns < options->duration_ns;
	     at_ns += NSEC_PER_SEC) {
		hdr_timespec from = to_timespec(at_ns);
		hdr_timespec length = to_timespec(NSEC_PER_SEC);

		hdr_reset(histogram);
		for (int64_t i = 0; i < options->writers; i++)
			next[i] = record_until(histogram, &writers[i], next[i],
					       start_ns + at_ns + NSEC_PER_SEC,
					       value_of);
		if (histogram->total_count &&
		    hdr_log_write(&log, file, &from, &length, histogram))
			die(EXIT_WRITES_FAILED, "%s: %s", path,
			    strerror(errno));
	}
	hdr_close(histogram);
	free(next);
}

static void write_histogram_log(const char *path, const char *what,
				const struct options *options,
				const struct writer *writers, int64_t start_ns,
				int64_t start_realtime_ns, value_of *value_of)
{
	hdr_timespec realtime = to_timespec(start_realtime_ns);
	struct hdr_log_writer log;
	char note[128];
	FILE *file;

	if (!path)
		return;
	file = open_log(path);
	snprintf(note, sizeof(note),
		 "latwriter: ns %s; start is CLOCK_MONOTONIC %" PRId64 " ns",
		 what, start_ns);
	hdr_log_writer_init(&log);
	if (hdr_log_write_header(&log, file, note, &realtime))
		die(EXIT_WRITES_FAILED, "%s: %s", path, strerror(errno));
	write_intervals(file, path, options, writers, start_ns, value_of);
	close_log(file, path);
}

void write_histogram_logs(const struct options *options,
			  const struct writer *writers, int64_t start_ns,
			  int64_t start_realtime_ns)
{
	write_histogram_log(options->hlog, "from the intended start",
			    options, writers, start_ns, start_realtime_ns,
			    latency_ns);
	write_histogram_log(options->hlog_service, "of the call",
			    options, writers, start_ns, start_realtime_ns,
			    service_ns);
}

/* Length of the well-formed UTF-8 sequence at text, 0 where there is none. */
static int utf8_length(const unsigned char *text)
{
	static const struct {
		unsigned char first_min, first_max, second_min, second_max;
		int length;
	} forms[] = {	/* Unicode 15, table 3-7 */
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		int good = 2;

		if (text[0] < forms[i].first_min ||
		    text[0] > forms[i].first_max ||
		    text[1] < forms[i].second_min ||
		    text[1] > forms[i].second_max)
			continue;
		while (good < forms[i].length && text[good] >= 0x80 &&
		       text[good] <= 0xbf)
			good++;
		return good == forms[i].length ? good : 0;
	}
	return 0;
}

static void print_json_string(FILE *file, const char *string)
{
	const unsigned char *text = (const unsigned char *)string;

	fputc('"', file);
	while (*text) {
		int length = *text < 0x80 ? 1 : utf8_length(text);

		if (*text == '"' || *text == '\\')
			fprintf(file, "\\%c", *text);
		else if (*text < 0x20 || *text == 0x7f)
			fprintf(file, "\\u%04x", *text);
		else if (length)
			fwrite(text, 1, length, file);
		else
			fputs("\xef\xbf\xbd", file);	/* U+FFFD */
		text += length ? length : 1;
	}
	fputc('"', file);
}

struct client_write {
	const char *call;
	int64_t t_ns;
	int64_t dur_ns;
	int64_t bytes;
	int32_t ret;
};

static void print_client_write(FILE *file, const struct writer *writer,
			       int64_t seq, const struct client_write *line)
{
	fprintf(file, "{\"ev\":\"client_write\",\"seq\":%" PRId64
		",\"intended_ns\":%" PRId64 ",\"t_ns\":%" PRId64
		",\"dur_ns\":%" PRId64 ",\"tid\":%" PRId32 ",\"call\":\"%s\""
		",\"path\":", seq, intended_ns(writer, seq), line->t_ns,
		line->dur_ns, writer->tid, line->call);
	print_json_string(file, writer->short_path);
	fprintf(file, ",\"offset\":%" PRId64 ",\"bytes\":%" PRId64
		",\"ret\":%" PRId32 "}\n", writer->samples[seq].offset,
		line->bytes, line->ret);
}

static void print_sample(FILE *file, const struct writer *writer, int64_t seq)
{
	const struct options *options = writer->options;
	const struct sample *sample = &writer->samples[seq];
	struct client_write write_line = {
		.call = options->region_bytes ? "pwrite64" : "write",
		.t_ns = sample->start_ns,
		.dur_ns = sample->write_ns,
		.bytes = options->bytes,
		.ret = sample->ret,
	};
	struct client_write fsync_line = {
		.call = "fsync",
		.t_ns = sample->start_ns + sample->write_ns,
		.dur_ns = sample->fsync_ns,
		.ret = sample->fsync_ret,
	};

	if (write_is_notable(options, sample))
		print_client_write(file, writer, seq, &write_line);
	if (sample->fsync_ns &&
	    (sample->fsync_ns >= options->slow_ns || sample->fsync_ret))
		print_client_write(file, writer, seq, &fsync_line);
}

void write_slow_log(const struct options *options,
		    const struct writer *writers, int64_t start_ns,
		    const struct totals *totals)
{
	int64_t last_ns = start_ns;
	FILE *file;

	if (!options->slow_log)
		return;
	file = open_log(options->slow_log);
	fprintf(file, "{\"ev\":\"begin\",\"t_ns\":%" PRId64
		",\"interval_ns\":%" PRId64 ",\"bytes\":%" PRId64
		",\"writers\":%" PRId64 "}\n", start_ns, options->interval_ns,
		options->bytes, options->writers);
	for (int64_t i = 0; i < options->writers; i++) {
		for (int64_t seq = 0; seq < writers[i].begun; seq++)
			print_sample(file, &writers[i], seq);
		if (writers[i].stopped_ns > last_ns)
			last_ns = writers[i].stopped_ns;
	}
	fprintf(file, "{\"ev\":\"end\",\"t_ns\":%" PRId64 ",\"writes\":%"
		PRId64 ",\"slow\":%" PRId64 ",\"missed\":%" PRId64
		",\"failed\":%" PRId64 ",\"short\":%" PRId64 ",\"late_ns\":%"
		PRId64 "}\n", last_ns,
		totals->writes, totals->slow, totals->missed, totals->failed,
		totals->shortened, totals->late_ns);
	close_log(file, options->slow_log);
}
