// SPDX-License-Identifier: GPL-2.0-only
// json.c: write one event as a line of JSON

#include "json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "log.h"

static bool is_first_item;
static uint64_t lines;

static void quote(const char *text, size_t size);

/*
 * What is not written yet. A busy tracer takes CPU time from what it traces, and printf()
 * and the calls of stdio were most of an event's instructions.
 */
static char buffer[1 << 16];
static size_t used;

void json_flush(void)
{
	size_t at = 0;

	while (at < used) {
		ssize_t written = write(STDOUT_FILENO, buffer + at, used - at);

		if (written >= 0)
			at += written;
		else if (errno != EINTR)
			die(EXIT_FAILED, "cannot write: %s", strerror(errno));
	}
	used = 0;
}

static void put_bytes(const void *bytes, size_t size)
{
	while (size > sizeof(buffer) - used) {
		size_t part = sizeof(buffer) - used;

		memcpy(buffer + used, bytes, part);
		used += part;
		bytes = (const char *)bytes + part;
		size -= part;
		json_flush();
	}
	memcpy(buffer + used, bytes, size);
	used += size;
}

static void put(const char *text)
{
	put_bytes(text, strlen(text));
}

static void put_unsigned(uint64_t value)
{
	char digits[20];	/* of UINT64_MAX */
	char *at = digits + sizeof(digits);

	do {
		*--at = '0' + value % 10;
		value /= 10;
	} while (value);
	put_bytes(at, digits + sizeof(digits) - at);
}

static void put_name(const char *name)
{
	put(",\"");
	put(name);
	put("\":");
}

void json_begin(const char *event)
{
	put("{\"ev\":\"");
	put(event);
	put("\"");
}

void json_end(void)
{
	put("}\n");
	lines++;
}

uint64_t json_lines(void)
{
	return lines;
}

void json_number(const char *name, int64_t value)
{
	put_name(name);
	if (value < 0)
		put("-");
	put_unsigned(value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_unsigned(const char *name, uint64_t value)
{
	put_name(name);
	put_unsigned(value);
}

void json_null(const char *name)
{
	put_name(name);
	put("null");
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
	put_name(name);
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
	put_name(name);
	put("[");
	is_first_item = true;
}

void json_item(const char *text)
{
	if (!is_first_item)
		put(",");
	is_first_item = false;
	quote(text, strlen(text));
}

void json_object(const char *name, const char *text)
{
	put(is_first_item ? "{\"" : ",{\"");
	is_first_item = false;
	put(name);
	put("\":");
	quote(text, strlen(text));
}

void json_object_end(void)
{
	put("}");
}

void json_close(void)
{
	put("]");
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

static bool is_plain(unsigned char byte)
{
	return byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
}

/* How many of these bytes stand for themselves: nearly all do. */
static size_t plain(const unsigned char *at, const unsigned char *end)
{
	const unsigned char *from = at;

	while (at < end && is_plain(*at))
		at++;
	return at - from;
}

static void quote(const char *text, size_t size)
{
	const unsigned char *at = (const unsigned char *)text;
	const unsigned char *end = at + size;
	char escape[8];

	put("\"");
	while (at < end) {
		size_t length = plain(at, end);

		if (!length)
			length = sequence(at, end - at);
		if (!length) {
			put("\xef\xbf\xbd");	/* U+FFFD */
		} else if (length > 1 || is_plain(*at)) {
			put_bytes(at, length);
		} else {
			snprintf(escape, sizeof(escape), "\\u%04x", *at);
			put(escape);
		}
		at += length ? length : 1;
	}
	put("\"");
}
