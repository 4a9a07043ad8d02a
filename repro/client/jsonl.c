// SPDX-License-Identifier: GPL-2.0-only
// jsonl.c: write a client's record, JSON Lines

#include "jsonl.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

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

/* Length of the well-formed UTF-8 sequence at text, 0 if there is none. */
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
		",\"path\":", line->seq, line->intended_ns,
		line->written.start_ns, line->written.dur_ns, line->tid,
		line->call);
	print_json_string(file, line->path);
	fprintf(file, ",\"offset\":%" PRId64 ",\"bytes\":%" PRId64
		",\"ret\":%" PRId32 "}\n", line->written.offset, line->bytes,
		line->written.ret);
}
