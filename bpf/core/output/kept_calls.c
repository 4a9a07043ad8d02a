// SPDX-License-Identifier: GPL-2.0-only
/*
 * kept_calls.c: print the calls that a replay makes again, many in one event
 *
 * `calls` in docs/events.md: the rows are gathered, the bytes of all first bytes first, then
 * all second ones and so on, which compresses better, compressed, and written in base64.
 */

#include "kept_calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <zlib.h>

#include "events.h"
#include "fields.h"
#include "json.h"
#include "log.h"

#define MOST_ROWS 2048
#define ROW_BYTES sizeof(struct kept_row)
#define RAW_BYTES (MOST_ROWS * ROW_BYTES)
#define PACKED_BYTES (RAW_BYTES + RAW_BYTES / 1000 + 64)	/* above compressBound() */

static struct kept_row rows[MOST_ROWS];
static unsigned int gathered, wakes;
static int64_t left_bytes;
static uint64_t over;	/* calls above the bound */

void keep_calls(int64_t most_bytes)
{
	left_bytes = most_bytes;
}

static size_t packed(unsigned char to[PACKED_BYTES])
{
	static unsigned char planes[RAW_BYTES];
	unsigned long size = PACKED_BYTES;

	for (size_t byte = 0; byte < ROW_BYTES; byte++) {
		for (unsigned int i = 0; i < gathered; i++)
			planes[byte * gathered + i] = ((unsigned char *)&rows[i])[byte];
	}
	if (compress2(to, &size, planes, gathered * ROW_BYTES, Z_BEST_SPEED) != Z_OK)
		die(EXIT_FAILED, "calls cannot be compressed");
	return size;
}

static void print_base64(const char *name, const unsigned char *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	static char text[(PACKED_BYTES + 2) / 3 * 4];
	size_t used = 0;

	for (size_t at = 0; at < size; at += 3) {
		unsigned int left = size - at < 3 ? size - at : 3;
		unsigned int bits = bytes[at] << 16 | (left > 1 ? bytes[at + 1] : 0) << 8 |
			(left > 2 ? bytes[at + 2] : 0);

		for (unsigned int i = 0; i < 4; i++)
			text[used++] = i <= left ? digits[bits >> (18 - 6 * i) & 63] : '=';
	}
	json_text(name, text, used);
}

static void print_gathered(uint64_t lost, uint64_t left)
{
	static unsigned char bytes[PACKED_BYTES];
	size_t size = packed(bytes);
	bool fits = left_bytes >= (int64_t)size;

	if (!fits) {
		over += gathered;
		gathered = 0;
		wakes = 0;
		size = packed(bytes);
	} else {
		left_bytes -= size;
	}
	json_begin("calls");
	json_number("t_ns", gathered ? rows[0].t_ns : monotonic_ns());
	json_unsigned("count", gathered);
	json_unsigned("lost", lost + over);
	json_unsigned("left_out", left);
	json_unsigned("wakes", wakes);
	print_base64("rows", bytes, size);
	json_end();
	gathered = 0;
	wakes = 0;
	over = 0;
}

void print_kept(const struct kept_counts *counts)
{
	static struct kept_counts reported;
	struct kept_counts now = *(const volatile struct kept_counts *)counts;
	uint64_t lost = now.lost - reported.lost, left = now.left - reported.left;

	if (gathered || lost || left)
		print_gathered(lost, left);
	reported = now;
}

void take_kept(const struct kept_row *row)
{
	rows[gathered++] = *row;
	wakes += row->op == KEEP_WAKE;
	if (gathered == MOST_ROWS)
		print_gathered(0, 0);
}

void print_file(const struct file_row *row)
{
	json_begin("file");
	json_number("t_ns", row->t_ns);
	json_unsigned("number", row->number);
	print_device(row->dev);
	json_unsigned("ino", row->ino);
	json_unsigned("bytes", row->bytes);
	json_known("allocated", row->allocated);
	json_text("kind", row->is_folder ? "folder" : "regular", SIZE_MAX);
	json_end();
}
