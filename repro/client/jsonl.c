// SPDX-License-Identifier: GPL-2.0-only
// jsonl.c: what a client saw to JSON Lines and to its last words

#include "jsonl.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

FILE *open_log(const char *path)
{
	FILE *file = fopen(path, "we");

	if (!file)
		die(EXIT_WRITES_FAILED, "%s: %s", path, strerror(errno));
	return file;
}

void close_log(FILE *file, const char *path)
{
	bool failed = ferror(file);

	if (fclose(file) || failed)
		die(EXIT_WRITES_FAILED, "%s: %s", path, strerror(errno));
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

void print_json_string(FILE *file, const char *string)
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

void print_client_write(FILE *file, const struct client_write *line)
{
	fprintf(file, "{\"ev\":\"client_write\",\"seq\":%" PRId64
		",\"intended_ns\":%" PRId64 ",\"t_ns\":%" PRId64
		",\"dur_ns\":%" PRId64 ",\"tid\":%" PRId32 ",\"call\":\"%s\""
		",\"path\":", line->seq, line->intended_ns, line->t_ns,
		line->dur_ns, line->tid, line->call);
	print_json_string(file, line->path);
	fprintf(file, ",\"offset\":%" PRId64 ",\"bytes\":%" PRId64
		",\"ret\":%" PRId32 "}\n", line->offset, line->bytes,
		line->ret);
}

void print_end(FILE *file, int64_t t_ns, const struct totals *totals,
	       const char *more)
{
	fprintf(file, "{\"ev\":\"end\",\"t_ns\":%" PRId64 ",\"writes\":%"
		PRId64 ",\"slow\":%" PRId64 ",\"missed\":%" PRId64
		",\"failed\":%" PRId64 ",\"short\":%" PRId64 "%s}\n", t_ns,
		totals->writes, totals->slow, totals->missed, totals->failed,
		totals->shortened, more);
}

void add_write(struct totals *totals, const struct common *common,
	       int64_t dur_ns, int32_t ret)
{
	totals->writes++;
	totals->slow += dur_ns >= common->slow_ns;
	totals->failed += ret < 0;
	totals->shortened += ret >= 0 && ret < common->bytes;
	if (dur_ns > totals->slowest_ns)
		totals->slowest_ns = dur_ns;
}

int64_t appended_at(int fd, int32_t ret)
{
	int64_t at = lseek(fd, 0, SEEK_CUR);	/* a pipe has none */

	return at < 0 ? 0 : at - (ret > 0 ? ret : 0);
}

void report_failure(const char *call, const char *path, int32_t ret,
		    int64_t at, int64_t of)
{
	fprintf(stderr, "%s: %s %s: %s, at write %" PRId64 " of %" PRId64 "\n",
		program_name, call, path, strerror(-ret), at, of);
}

int report_totals(const struct totals *totals, const char *more)
{
	fprintf(stderr, "%s: %s%" PRId64 " of %" PRId64 " writes, %" PRId64
		" slow, slowest %.1f ms, %" PRId64 " missed, %" PRId64
		" short, %" PRId64 " failed\n", program_name, more,
		totals->writes, totals->planned, totals->slow,
		totals->slowest_ns / 1e6, totals->missed, totals->shortened,
		totals->failed);
	if (totals->failed || totals->shortened)
		return EXIT_WRITES_FAILED;
	return stop_signal() ? EXIT_BY_SIGNAL + stop_signal() : EXIT_OK;
}
