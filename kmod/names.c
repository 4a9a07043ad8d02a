// SPDX-License-Identifier: GPL-2.0-only
/* names.c: names of modes, ops, flags, kinds and counters */
#include <linux/blk_types.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include "biodelay.h"

#define NAME(symbol, name) [BIODELAY_##symbol] = name,
#define DEFINE_NAMES(names, LIST) \
	const char *const names[] = { LIST(NAME, NAME) NULL }

DEFINE_NAMES(biodelay_mode_names, BIODELAY_MODE_LIST);
DEFINE_NAMES(biodelay_op_names, BIODELAY_OP_LIST);
DEFINE_NAMES(biodelay_flag_names, BIODELAY_FLAG_LIST);
DEFINE_NAMES(biodelay_kind_names, BIODELAY_KIND_LIST);
DEFINE_NAMES(biodelay_count_names, BIODELAY_COUNT_LIST);

#define BIT_OF(flag, name) [BIODELAY_##flag] = REQ_##flag,

static const blk_opf_t flag_bits[BIODELAY_FLAGS] = {
	BIODELAY_FLAG_LIST(BIT_OF, BIT_OF)
};

/**
 * biodelay_name_index() - the index of a word in a list of names
 * @names: the names
 * @word: the word
 *
 * Return: its index, or -1.
 */
int biodelay_name_index(const char *const names[], const char *word)
{
	int i;

	for (i = 0; names[i]; i++)
		if (!strcmp(names[i], word))
			return i;
	return -1;
}

/**
 * biodelay_mask_parse() - parse a comma-separated list of names into a mask
 * @names: the names, that of bit 0 first
 * @words: the list; modified
 * @mask: set on success
 *
 * Return: 0, or -EBADRQC for an unknown word.
 */
int biodelay_mask_parse(const char *const names[], char *words, u32 *mask)
{
	u32 parsed = 0;
	char *word;
	int i;

	while ((word = strsep(&words, ","))) {
		i = biodelay_name_index(names, word);
		if (i < 0)
			return -EBADRQC;
		parsed |= BIT(i);
	}
	*mask = parsed;
	return 0;
}

/**
 * biodelay_mask_print() - print a mask as a comma-separated list of names
 * @names: the names, that of bit 0 first
 * @mask: the mask
 * @quote: put on both sides of each name
 * @out: buffer
 * @size: its size
 *
 * Return: characters printed.
 */
int biodelay_mask_print(const char *const names[], u32 mask, const char *quote,
			char *out, size_t size)
{
	int i, n = 0;

	*out = '\0';
	for (i = 0; names[i]; i++)
		if (mask & BIT(i))
			n += scnprintf(out + n, size - n, "%s%s%s%s",
				       n ? "," : "", quote, names[i], quote);
	return n;
}

/**
 * biodelay_op_of() - a bio's operation, as used in rules
 * @bio: the bio
 *
 * File systems request a flush with an empty write that has REQ_PREFLUSH set
 * (blkdev_issue_flush() in block/blk-flush.c).
 */
enum biodelay_op biodelay_op_of(const struct bio *bio)
{
	switch (bio_op(bio)) {
	case REQ_OP_READ:
		return BIODELAY_READ;
	case REQ_OP_WRITE:
		return bio->bi_iter.bi_size ? BIODELAY_WRITE : BIODELAY_FLUSH;
	case REQ_OP_ZONE_APPEND:
		return BIODELAY_WRITE;
	case REQ_OP_FLUSH:
		return BIODELAY_FLUSH;
	case REQ_OP_DISCARD:
	case REQ_OP_SECURE_ERASE:
		return BIODELAY_DISCARD;
	case REQ_OP_WRITE_ZEROES:
		return BIODELAY_ZEROES;
	default:
		return BIODELAY_OTHER;
	}
}

/**
 * biodelay_flags_of() - a bio's flags as a mask of enum biodelay_flag
 * @bio: the bio
 */
u8 biodelay_flags_of(const struct bio *bio)
{
	u8 mask = 0;
	int i;

	for (i = 0; i < BIODELAY_FLAGS; i++)
		if (bio->bi_opf & flag_bits[i])
			mask |= BIT(i);
	return mask;
}
