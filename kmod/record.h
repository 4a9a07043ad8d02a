/* SPDX-License-Identifier: GPL-2.0-only */
/* record.h: the data of a delayed bio, for the record and the tracepoint */
#ifndef BIODELAY_RECORD_H
#define BIODELAY_RECORD_H

#include <linux/fs.h>
#include <linux/sched.h>
#include <linux/types.h>
#include "names.h"

#define BIODELAY_NAME_LEN 32 /* of rules and devices, including NUL */

/**
 * struct biodelay_record - one delayed bio: a line of the injector's record
 * @t_ns: start of the delay, CLOCK_MONOTONIC
 * @dur_ns: actual delay
 * @requested_ns: requested delay
 * @sector: first sector, from the start of @dev, in units of 512 bytes
 * @bytes: length
 * @dev: disk or partition of the rule
 * @flags: mask of enum biodelay_flag
 * @op: its operation, enum biodelay_op
 * @mode: how it was delayed, enum biodelay_mode
 * @tid: thread that submitted it
 * @comm: its name
 * @rule: the rule's name
 */
struct biodelay_record {
	u64 t_ns;
	u64 dur_ns;
	u64 requested_ns;
	u64 sector;
	u32 bytes;
	dev_t dev;
	u8 flags;
	u8 op;
	u8 mode;
	pid_t tid;
	char comm[TASK_COMM_LEN];
	char rule[BIODELAY_NAME_LEN];
};

#endif
