/* SPDX-License-Identifier: GPL-2.0-only */
/* trace.h: the tracepoint biodelay:bio_delay */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM biodelay

#if !defined(BIODELAY_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define BIODELAY_TRACE_H

#include <linux/tracepoint.h>
#include "record.h"

/* TRACE_DEFINE_ENUM() gives perf and trace-cmd the values of the enums. */
#define BIODELAY_TRACE_ENUM(symbol, name) TRACE_DEFINE_ENUM(BIODELAY_##symbol);
#define BIODELAY_NAMED(symbol, name) { BIODELAY_##symbol, name },
#define BIODELAY_NAMED_LAST(symbol, name) { BIODELAY_##symbol, name }
#define BIODELAY_NAMED_BIT(symbol, name) { 1 << BIODELAY_##symbol, name },
#define BIODELAY_NAMED_BIT_LAST(symbol, name) { 1 << BIODELAY_##symbol, name }

BIODELAY_MODE_LIST(BIODELAY_TRACE_ENUM, BIODELAY_TRACE_ENUM)
BIODELAY_OP_LIST(BIODELAY_TRACE_ENUM, BIODELAY_TRACE_ENUM)
BIODELAY_FLAG_LIST(BIODELAY_TRACE_ENUM, BIODELAY_TRACE_ENUM)

/* Fires when the delay has ended, just before the bio is submitted. */
TRACE_EVENT(bio_delay,
	TP_PROTO(const struct biodelay_record *record),
	TP_ARGS(record),
	TP_STRUCT__entry(
		__field(u64, t_ns)
		__field(u64, dur_ns)
		__field(u64, requested_ns)
		__field(u64, sector)
		__field(u32, bytes)
		__field(u32, dev)
		__field(u8, op)
		__field(u8, mode)
		__field(u8, flags)
		__field(pid_t, tid)
		__array(char, comm, TASK_COMM_LEN)
		__array(char, rule, BIODELAY_NAME_LEN)
	),
	TP_fast_assign(
		__entry->t_ns = record->t_ns;
		__entry->dur_ns = record->dur_ns;
		__entry->requested_ns = record->requested_ns;
		__entry->sector = record->sector;
		__entry->bytes = record->bytes;
		__entry->dev = record->dev;
		__entry->op = record->op;
		__entry->mode = record->mode;
		__entry->flags = record->flags;
		__entry->tid = record->tid;
		memcpy(__entry->comm, record->comm, TASK_COMM_LEN);
		memcpy(__entry->rule, record->rule, BIODELAY_NAME_LEN);
	),
	TP_printk("rule=%s mode=%s dev=%u:%u sector=%llu bytes=%u op=%s flags=%s comm=%s tid=%d requested_ns=%llu dur_ns=%llu t_ns=%llu",
		__entry->rule,
		__print_symbolic(__entry->mode,
			BIODELAY_MODE_LIST(BIODELAY_NAMED, BIODELAY_NAMED_LAST)),
		MAJOR(__entry->dev), MINOR(__entry->dev), __entry->sector,
		__entry->bytes,
		__print_symbolic(__entry->op,
			BIODELAY_OP_LIST(BIODELAY_NAMED, BIODELAY_NAMED_LAST)),
		__print_flags(__entry->flags, ",",
			BIODELAY_FLAG_LIST(BIODELAY_NAMED_BIT,
					   BIODELAY_NAMED_BIT_LAST)),
		__entry->comm, __entry->tid, __entry->requested_ns,
		__entry->dur_ns, __entry->t_ns)
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
