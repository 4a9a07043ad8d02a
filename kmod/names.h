/* SPDX-License-Identifier: GPL-2.0-only */
/* names.h: lists of modes, ops, flags, kinds and counters */
#ifndef BIODELAY_NAMES_H
#define BIODELAY_NAMES_H

#include <linux/types.h>

/*
 * LIST(X, X_LAST): X(SYMBOL, NAME) for each except the last, X_LAST for the last.
 * The enums, the names in names.c and the tracepoint's symbols are made from these.
 */
#define BIODELAY_MODE_LIST(X, X_LAST) \
	X(SLEEP, "sleep") \
	X(DEFER, "defer") \
	X_LAST(SPIN, "spin")

#define BIODELAY_OP_LIST(X, X_LAST) \
	X(READ, "read") \
	X(WRITE, "write") \
	X(FLUSH, "flush") \
	X(DISCARD, "discard") \
	X(ZEROES, "zeroes") \
	X_LAST(OTHER, "other")

/* The symbols are the kernel's REQ_ names. */
#define BIODELAY_FLAG_LIST(X, X_LAST) \
	X(SYNC, "SYNC") \
	X(META, "META") \
	X(PRIO, "PRIO") \
	X(FUA, "FUA") \
	X(PREFLUSH, "PREFLUSH") \
	X_LAST(RAHEAD, "RAHEAD")

#define BIODELAY_KIND_LIST(X, X_LAST) \
	X(ANYONE, "anyone") \
	X(USER, "user") \
	X(KTHREAD, "kthread") \
	X_LAST(WRITEBACK, "writeback")

/* Counters of each rule; refused_*: why a matched bio was not delayed. */
#define BIODELAY_COUNT_LIST(X, X_LAST) \
	X(SEEN, "seen") \
	X(MATCHED, "matched") \
	X(SKIPPED, "skipped") \
	X(DELAYED, "delayed") \
	X(REFUSED_NOWAIT, "refused_nowait") \
	X(REFUSED_ATOMIC, "refused_atomic") \
	X(REFUSED_RECLAIM, "refused_reclaim") \
	X(REFUSED_POLLED, "refused_polled") \
	X(REFUSED_FULL, "refused_full") \
	X(REFUSED_NESTED, "refused_nested") \
	X(REFUSED_REPLACED, "refused_replaced") \
	X_LAST(TOTAL_DELAY_NS, "total_delay_ns")

#define BIODELAY_ENUM(symbol, name) BIODELAY_##symbol,

enum biodelay_mode {
	BIODELAY_MODE_LIST(BIODELAY_ENUM, BIODELAY_ENUM)
	BIODELAY_MODES
};

enum biodelay_op {
	BIODELAY_OP_LIST(BIODELAY_ENUM, BIODELAY_ENUM)
	BIODELAY_OPS
};

enum biodelay_flag {
	BIODELAY_FLAG_LIST(BIODELAY_ENUM, BIODELAY_ENUM)
	BIODELAY_FLAGS
};

enum biodelay_kind {
	BIODELAY_KIND_LIST(BIODELAY_ENUM, BIODELAY_ENUM)
	BIODELAY_KINDS
};

enum biodelay_count {
	BIODELAY_COUNT_LIST(BIODELAY_ENUM, BIODELAY_ENUM)
	BIODELAY_COUNTS
};

struct bio;

/* NULL-terminated. */
extern const char *const biodelay_mode_names[];
extern const char *const biodelay_op_names[];
extern const char *const biodelay_flag_names[];
extern const char *const biodelay_kind_names[];
extern const char *const biodelay_count_names[];

int biodelay_name_index(const char *const names[], const char *word);
int biodelay_mask_parse(const char *const names[], char *words, u32 *mask);
int biodelay_mask_print(const char *const names[], u32 mask, const char *quote,
			char *out, size_t size);
enum biodelay_op biodelay_op_of(const struct bio *bio);
u8 biodelay_flags_of(const struct bio *bio);

#endif
