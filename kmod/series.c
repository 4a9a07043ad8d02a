// SPDX-License-Identifier: GPL-2.0-only
/* series.c: distributions of delays that follow one another after arming */
#include <linux/kernel.h>
#include <linux/string.h>
#include "biodelay.h"

/* The last segment's points, and how many there are. */
static struct biodelay_point *last_points(struct biodelay_series *series,
					  u32 *count)
{
	u32 first = series->from[series->segments - 1].first;

	*count = series->points - first;
	return &series->at[first];
}

static int add_point(struct biodelay_series *series, char *word)
{
	u32 count, most;
	struct biodelay_point *at = last_points(series, &count);
	int err;

	most = min(BIODELAY_MAX_SEGMENT_POINTS,
		   BIODELAY_MAX_SERIES_POINTS - series->points + count);
	err = biodelay_point_parse(at, &count, most, word);
	series->points = at - series->at + count;
	return err;
}

/* A segment without points has no delays; others have a whole table. */
static int check_last(struct biodelay_series *series)
{
	u32 count;
	const struct biodelay_point *at = last_points(series, &count);

	return count ? biodelay_points_check(at, count) : 0;
}

/* Forget the segments that begin at @ms or later. */
static void cut(struct biodelay_series *series, u64 ms)
{
	u32 *n = &series->segments;

	for (; *n && series->from[*n - 1].ms >= ms; --*n)
		series->points = series->from[*n - 1].first;
}

static int begin_segment(struct biodelay_series *series, const char *word,
			 bool is_first)
{
	u64 ms;
	int err = kstrtou64(word, 10, &ms);
	u32 n;

	if (err)
		return err;
	if (ms > U32_MAX)
		return -ERANGE;
	if (is_first)
		cut(series, ms);
	n = series->segments;
	if (n == BIODELAY_MAX_SEGMENTS)
		return -E2BIG;
	if (n && ms <= series->from[n - 1].ms)
		return -EDOM;
	series->from[n].ms = ms;
	series->from[n].first = series->points;
	series->segments++;
	return 0;
}

/**
 * biodelay_series_copy() - copy what is used of a series
 * @to: set
 * @from: the series, or NULL for an empty one
 */
void biodelay_series_copy(struct biodelay_series *to,
			  const struct biodelay_series *from)
{
	to->segments = from ? from->segments : 0;
	to->points = from ? from->points : 0;
	if (!from)
		return;
	memcpy(to->from, from->from, from->segments * sizeof(*from->from));
	memcpy(to->at, from->at, from->points * sizeof(*from->at));
}

/**
 * biodelay_series_parse() - parse segments, in the place of those from the first on
 * @series: changed; of no use on failure
 * @words: "MS PPB:NS ... MS PPB:NS ..."; modified
 *
 * What does not fit into a page is written in several pieces, the earliest first.
 *
 * Return: 0, or as biodelay_delay_parse(); -EDOM also for times that do not rise,
 * -E2BIG for more than BIODELAY_MAX_SEGMENTS, BIODELAY_MAX_SEGMENT_POINTS in one of
 * them or BIODELAY_MAX_SERIES_POINTS.
 */
int biodelay_series_parse(struct biodelay_series *series, char *words)
{
	bool is_first = true;
	char *word;
	int err = 0;

	while (!err && (word = strsep(&words, " "))) {
		if (strchr(word, ':'))
			err = is_first ? -EINVAL : add_point(series, word);
		else
			err = (is_first ? 0 : check_last(series)) ?:
			      begin_segment(series, word, is_first);
		is_first = false;
	}
	return err ?: check_last(series);
}

static int print_segment(const struct biodelay_series *series, u32 i,
			 char *out, size_t size)
{
	int n = scnprintf(out, size, "%u", series->from[i].ms);
	u32 count;
	const struct biodelay_point *at =
		biodelay_series_at(series, series->from[i].ms, &count);

	return n + biodelay_points_print(at, count, out + n, size - n);
}

/**
 * biodelay_series_show() - print the last segments, as many as fit into a page
 * @series: the series
 * @page: PAGE_SIZE bytes
 *
 * biodelay_series_parse() of what was printed changes nothing.
 *
 * Return: characters printed.
 */
int biodelay_series_show(const struct biodelay_series *series, char *page)
{
	int n = 0, room = PAGE_SIZE - 2; /* a newline and a NUL follow */
	u32 i = series->segments;

	while (i) {
		room -= print_segment(series, i - 1, page, PAGE_SIZE) + 1;
		if (room < 0)
			break;
		i--;
	}
	for (; i < series->segments; i++) {
		if (n)
			page[n++] = ' ';
		n += print_segment(series, i, page + n, PAGE_SIZE - n);
	}
	return n;
}

/**
 * biodelay_series_at() - the distribution that is in force at a time
 * @series: the series
 * @ms: since the rule was armed
 * @count: set to its points; 0: nothing is delayed then
 *
 * Context: the probe's handler.
 */
const struct biodelay_point *
biodelay_series_at(const struct biodelay_series *series, u64 ms, u32 *count)
{
	u32 low = 0, high = series->segments; /* low: those that have begun */
	u32 first, next = series->points;

	while (low < high) {
		u32 middle = (low + high) / 2;

		if (series->from[middle].ms <= ms)
			low = middle + 1;
		else
			high = middle;
	}
	first = low ? series->from[low - 1].first : 0;
	if (low < series->segments)
		next = series->from[low].first;
	*count = low ? next - first : 0;
	return &series->at[first];
}

/**
 * biodelay_series_longest_ns() - the longest delay of all segments
 * @series: the series
 */
u64 biodelay_series_longest_ns(const struct biodelay_series *series)
{
	u64 longest = 0;
	u32 i;

	for (i = 0; i < series->points; i++)
		longest = max(longest, series->at[i].ns);
	return longest;
}
