/* SPDX-License-Identifier: GPL-2.0-only */
/* shim.h: what kmod's parsers use of the kernel, for a program of user space */
#ifndef FUZZ_SHIM_H
#define FUZZ_SHIM_H

/*
 * Every <linux/...> that they include is this file (test_attributes.py). Numbers and
 * strings are parsed and printed as lib/kstrtox.c, lib/string_helpers.c and
 * lib/vsprintf.c do. Types that the parsers only pass on are empty.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* compat.h hides differences of kernels, of which none is left here. */
#define BIODELAY_COMPAT_H
#define BIODELAY_CAN_REDIRECT 1
#ifndef BIODELAY_CAN_SPIN /* test_checks.py */
#define BIODELAY_CAN_SPIN 1
#endif
#define BIODELAY_GLOBS "every [ closed"
#define CONFIG_GLOB 1
#define IS_ENABLED(option) (option)

typedef uint8_t u8;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef u64 sector_t;
typedef u32 blk_opf_t;
typedef int kprobe_pre_handler_t;
typedef int work_func_t;

#define __rcu
#define __percpu
#define asmlinkage
#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX
#define PAGE_SIZE 4096UL
#define TASK_COMM_LEN 16
#define PID_MAX_LIMIT (4 * 1024 * 1024)
#define NSEC_PER_USEC 1000ULL
#define NSEC_PER_MSEC 1000000ULL
#define BIT(n) (1U << (n))
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define MAJOR(dev) ((u32)((dev) >> 20))
#define MINOR(dev) ((u32)((dev) & 0xfffff))
#define MKDEV(major, minor) ((dev_t)(major) << 20 | (minor))
#define min(a, b) ((a) < (b) ? (a) : (b))
#define max(a, b) ((a) > (b) ? (a) : (b))

/* Types of rules and holds, which no parser looks into */
struct list_head { void *none; };
struct hlist_node { void *none; };
struct timerqueue_head { void *none; };
struct timerqueue_node { void *none; };
struct hrtimer { void *none; };
struct delayed_work { void *none; };
typedef struct { int none; } atomic_t;
typedef struct { int none; } raw_spinlock_t;
struct file_operations;
struct kprobe;
struct pt_regs;

#define this_cpu_add(counter, n) ((counter) += (n))
#define raw_spin_lock_init(lock) ((void)(lock))
#define raw_spin_lock_irqsave(lock, flags) ((void)(lock), (flags) = 0)
#define raw_spin_unlock_irqrestore(lock, flags) ((void)(lock), (void)(flags))

/* Bios, whose operation and flags names.c translates (include/linux/blk_types.h) */
struct bio {
	u32 bi_opf;
	struct { u32 bi_size; } bi_iter;
};

enum {
	REQ_OP_READ, REQ_OP_WRITE, REQ_OP_FLUSH, REQ_OP_DISCARD,
	REQ_OP_SECURE_ERASE, REQ_OP_ZONE_APPEND, REQ_OP_WRITE_ZEROES,
};

enum {
	REQ_SYNC = 1 << 8, REQ_META = 1 << 9, REQ_PRIO = 1 << 10,
	REQ_FUA = 1 << 11, REQ_PREFLUSH = 1 << 12, REQ_RAHEAD = 1 << 13,
};

#define bio_op(bio) ((bio)->bi_opf & 0xff)

/* Memory and strings */
#define GFP_KERNEL 0
#define kfree free
#define kvmalloc(bytes, flags) malloc(bytes)
#define kvfree free
#define kstrdup(text, flags) strdup(text)

static inline ssize_t strscpy(char *to, const char *from, size_t size)
{
	snprintf(to, size, "%s", from);
	return strlen(to);
}

static inline char *strim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

__attribute__((format(printf, 3, 4)))
static inline int scnprintf(char *out, size_t size, const char *format, ...)
{
	va_list arguments;
	int n;

	va_start(arguments, format);
	n = vsnprintf(out, size, format, arguments);
	va_end(arguments);
	return n < (int)size ? n : (int)size - 1;
}

/* A message is formatted, so that a sanitizer sees what its words point to. */
__attribute__((format(printf, 1, 2)))
static inline void pr_err(const char *format, ...)
{
	char line[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
}

static inline int kstrtou64(const char *text, unsigned int base, u64 *number)
{
	u64 parsed = 0;

	text += *text == '+';
	if (!isdigit((unsigned char)*text))
		return -EINVAL;
	for (; isdigit((unsigned char)*text); text++) {
		if (__builtin_mul_overflow(parsed, (u64)base, &parsed) ||
		    __builtin_add_overflow(parsed, (u64)(*text - '0'), &parsed))
			return -ERANGE;
	}
	text += *text == '\n';
	if (*text)
		return -EINVAL;
	*number = parsed;
	return 0;
}

/* Arithmetic and time */
static inline u64 div_u64(u64 number, u32 by)
{
	return number / by;
}

static inline u64 div64_u64_rem(u64 number, u64 by, u64 *rest)
{
	*rest = number % by;
	return number / by;
}

static inline u64 mul_u64_u32_shr(u64 number, u32 by, unsigned int shift)
{
	return (unsigned __int128)number * by >> shift;
}

u64 ktime_get_ns(void);

#endif
