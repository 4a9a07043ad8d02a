// SPDX-License-Identifier: GPL-2.0-only
// json.c: write one event as a line of JSON

#include "json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool is_first_item;
static uint64_t lines;

static void quote(const char *text, size_t size);

void json_begin(const char *event)
{
	printf("{\"ev\":\"%s\"", event);
}

void json_end(void)
{
	fputs("}\n", stdout);
	lines++;
}

uint64_t json_lines(void)
{
	return lines;
}

void json_number(const char *name, int64_t value)
{
	printf(",\"%s\":%" PRId64, name, value);
}

void json_unsigned(const char *name, uint64_t value)
{
	printf(",\"%s\":%" PRIu64, name, value);
}

void json_null(const char *name)
{
	printf(",\"%s\":null", name);
}

void json_known(const char *name, int64_t value)
{
	if (value < 0)
		json_null(name);
	else
		json_number(name, value);
}

void json_id(const char *name, uint64_t id)
{
	if (id)
		json_unsigned(name, id);
	else
		json_null(name);
}

void json_text(const char *name, const char *text, size_t size)
{
	printf(",\"%s\":", name);
	quote(text, strnlen(text, size));
}

void json_text_or_null(const char *name, const char *text)
{
	if (text && *text)
		json_text(name, text, SIZE_MAX);
	else
		json_null(name);
}

void json_open(const char *name)
{
	printf(",\"%s\":[", name);
	is_first_item = true;
}

void json_item(const char *text)
{
	if (!is_first_item)
		putchar(',');
	is_first_item = false;
	quote(text, strlen(text));
}

void json_close(void)
{
	putchar(']');
}

bool json_flush(void)
{
	return !fflush(stdout) && !ferror(stdout);
}

/* Bytes of the UTF-8 sequence that begins here, 0 if it is none. */
static size_t sequence(const unsigned char *at, size_t left)
{
	size_t length = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 :
		*at < 0xf0 ? 3 : *at < 0xf5 ? 4 : 0;
	uint32_t point;

	if (!length || length > left)
		return 0;
	point = length == 1 ? *at : *at & (0xff >> (length + 1));
	for (size_t i = 1; i < length; i++) {
		if ((at[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (at[i] & 0x3f);
	}
	/* too long for its value, one half of a pair of UTF-16, or none of Unicode's */
	if ((length == 3 && point < 0x800) || (length == 4 && point < 0x10000) ||
	    (point >= 0xd800 && point < 0xe000) || point > 0x10ffff)
		return 0;
	return length;
}

/* How many of these bytes stand for themselves: nearly all do. */
static size_t plain(const unsigned char *at, const unsigned char *end)
{
	const unsigned char *from = at;

	while (at < end && *at >= ' ' && *at < 0x7f && *at != '"' && *at != '\\')
		at++;
	return at - from;
}

static void quote(const char *text, size_t size)
{
	const unsigned char *at = (const unsigned char *)text;
	const unsigned char *end = at + size;

	putchar('"');
	while (at < end) {
		size_t length = plain(at, end);

		if (!length)
			length = sequence(at, end - at);
		if (!length)
			fputs("\xef\xbf\xbd", stdout);	/* U+FFFD */
		else if (*at < ' ' || *at == 0x7f)
			printf("\\u%04x", *at);
		else if (*at == '"' || *at == '\\')
			printf("\\%c", *at);
		else
			fwrite(at, 1, length, stdout);
		at += length ? length : 1;
	}
	putchar('"');
}
