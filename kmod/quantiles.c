// SPDX-License-Identifier: GPL-2.0-only
/* quantiles.c: distributions of delays as their quantiles: parse, print and invert */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/string.h>
#include "biodelay.h"

#define MAX_NS (BIODELAY_MAX_DELAY_US * NSEC_PER_USEC)

static int add_point(struct biodelay_point *at, u32 *count, u32 most, u64 ppb,
		     u64 ns)
{
	u32 n = *count;

	if (n == most)
		return -E2BIG;
	if (ppb > BIODELAY_PPB || ns > MAX_NS)
		return -ERANGE;
	if (n && (ppb < at[n - 1].ppb || ns < at[n - 1].ns))
		return -EDOM;
	at[n].ppb = ppb;
	at[n].ns = ns;
	++*count;
	return 0;
}

/**
 * biodelay_point_parse() - parse a point of a table, and append it
 * @at: the table
 * @count: its points so far; increased on success
 * @most: its bound
 * @word: "PPB:NS"; modified
 *
 * Return: 0, or an errno of biodelay_delay_parse().
 */
int biodelay_point_parse(struct biodelay_point *at, u32 *count, u32 most,
			 char *word)
{
	char *share = strsep(&word, ":");
	u64 ppb, ns;

	if (!word)
		return -EINVAL;
	return kstrtou64(share, 10, &ppb) ?: kstrtou64(word, 10, &ns) ?:
	       add_point(at, count, most, ppb, ns);
}

/**
 * biodelay_points_check() - whether a table ranges from 0 to BIODELAY_PPB
 * @at: the table
 * @count: its points
 *
 * Return: 0 or -EDOM.
 */
int biodelay_points_check(const struct biodelay_point *at, u32 count)
{
	if (count < 2 || at[0].ppb || at[count - 1].ppb != BIODELAY_PPB)
		return -EDOM;
	return 0;
}

/**
 * biodelay_points_print() - print a table, with a space before each point
 * @at: the table
 * @count: its points
 * @out: buffer
 * @size: its size
 *
 * Return: characters printed.
 */
int biodelay_points_print(const struct biodelay_point *at, u32 count, char *out,
			  size_t size)
{
	int n = 0;
	u32 i;

	for (i = 0; i < count; i++)
		n += scnprintf(out + n, size - n, " %u:%llu", at[i].ppb,
			       at[i].ns);
	return n;
}

/**
 * biodelay_points_quantile_ns() - invert a distribution function
 * @at: the table; delays are uniform between two points
 * @count: its points; 0: nothing is delayed
 * @ppb: share, below BIODELAY_PPB
 *
 * Context: the probe's handler.
 */
u64 biodelay_points_quantile_ns(const struct biodelay_point *at, u32 count,
				u32 ppb)
{
	u32 low = 0, high = count - 1;
	u64 part;

	if (count < 2)
		return count ? at[0].ns : 0;
	while (high - low > 1) {
		u32 middle = (low + high) / 2;

		if (at[middle].ppb <= ppb)
			low = middle;
		else
			high = middle;
	}
	/* In units of 2^-32: 30 s in ns times 2^32 would overflow, hence _shr. */
	part = div_u64((u64)(ppb - at[low].ppb) << 32,
		       at[high].ppb - at[low].ppb);
	return at[low].ns +
	       mul_u64_u32_shr(at[high].ns - at[low].ns, part, 32);
}

static int parse_table(struct biodelay_quantiles *delay, char *words)
{
	int err = words ? 0 : -EINVAL;
	char *word;

	while (!err && (word = strsep(&words, " ")))
		err = biodelay_point_parse(delay->at, &delay->count,
					   BIODELAY_MAX_POINTS, word);
	return err ?: biodelay_points_check(delay->at, delay->count);
}

/**
 * biodelay_delay_parse() - parse a fixed delay, or a distribution
 * @delay: set; of no use on failure
 * @words: "NS" or "table PPB:NS ..."; modified
 *
 * Return: 0; -EINVAL for anything else, -ERANGE for a delay above
 * BIODELAY_MAX_DELAY_US or a share above 1e9, -EDOM for quantiles that decrease
 * or do not range from 0 to 1e9, -E2BIG for more than BIODELAY_MAX_POINTS.
 */
int biodelay_delay_parse(struct biodelay_quantiles *delay, char *words)
{
	char *first = strsep(&words, " ");
	u64 ns;

	delay->count = 0;
	if (!strcmp(first, "table"))
		return parse_table(delay, words);
	return words ? -EINVAL : kstrtou64(first, 10, &ns) ?:
				 add_point(delay->at, &delay->count, 1, 0, ns);
}

/**
 * biodelay_delay_show() - print a distribution for biodelay_delay_parse()
 * @delay: the distribution
 * @page: PAGE_SIZE bytes
 *
 * Return: characters printed; 0 for no delay.
 */
int biodelay_delay_show(const struct biodelay_quantiles *delay, char *page)
{
	int n;

	if (!delay->count)
		return 0;
	if (delay->count == 1)
		return scnprintf(page, PAGE_SIZE, "%llu", delay->at[0].ns);
	n = scnprintf(page, PAGE_SIZE, "table");
	return n + biodelay_points_print(delay->at, delay->count, page + n,
					 PAGE_SIZE - n);
}
