/* SPDX-License-Identifier: GPL-2.0-only */
/* attrs.h: names, parsers and descriptions of a rule's attributes */
#ifndef BIODELAY_ATTRS_H
#define BIODELAY_ATTRS_H

/*
 * X(NAME, HOW, DESCRIPTION): each is a file in configfs and a module parameter, and HOW,
 * a macro of spec.c, parses it into a spec. Parameters are applied in this order: force
 * before what it overrides, enabled last, which is no part of a spec (rule.c).
 */
#define BIODELAY_SPEC_ATTRS(X) \
	X(force, TEXT(force), \
	  "the device's kernel name again, to allow root's, the module's or a swap disk") \
	X(device, OWN(device), \
	  "disk or partition: MAJ:MIN, a name (vdb) or a path; required to arm") \
	X(order, NUMBER(order, 0, 1000000), \
	  "rules are tried in ascending order: 0 to 1000000, default 1000") \
	X(ops, WORDS(ops, op, 1), \
	  "operations, a list of read,write,flush,discard,zeroes,other; default all") \
	X(flags_any, WORDS(flags_any, flag, 0), \
	  "bios with at least one of SYNC,META,PRIO,FUA,PREFLUSH,RAHEAD; default: any") \
	X(flags_none, WORDS(flags_none, flag, 0), \
	  "bios with none of SYNC,META,PRIO,FUA,PREFLUSH,RAHEAD; default: any") \
	X(submitter, TEXT(submitter), \
	  "glob on the submitting task's comm (jbd2/*), 1 to 63 characters; default *") \
	X(kind, CHOICE(kind, -EBADRQC), \
	  "submitter is anyone, user, kthread or writeback; default anyone") \
	X(pid, NUMBER(pid, 0, PID_MAX_LIMIT), \
	  "submitter's process id; default 0: any") \
	X(cgroup, NUMBER(cgroup, 0, U64_MAX), \
	  "submitter's cgroup id (inode number in cgroup2); default 0: any") \
	X(sectors, RANGE(sectors), \
	  "bios that overlap FIRST-LAST, 512-byte sectors of the device; default all") \
	X(bytes, RANGE(bytes), \
	  "bios of FIRST-LAST bytes; default all") \
	X(mode, CHOICE(mode, -EOPNOTSUPP), \
	  "how to delay: sleep, defer or spin; default sleep") \
	X(delay, OWN(delay), \
	  "NS or table PPB:NS ... (repro/delay-table); required to arm") \
	X(delay_us, OWN(delay_us, FIELD(max_delay_us), .low = 1, .high = BIODELAY_MAX_DELAY_US), \
	  "fixed delay in microseconds, 1 to 30000000; short for delay") \
	X(series, OWN(series), \
	  "MS PPB:NS ... MS PPB:NS ...: tables instead of delay, each from MS after arming on") \
	X(seed, NUMBER(seed, 0, U64_MAX), \
	  "seed of the random numbers: 0 to 2^64-1, default 1") \
	X(correlation, NUMBER(correlation, 0, 1000), \
	  "probability of repeating the last delay: 0 to 1000 permille, default 0") \
	X(lanes, NUMBER(lanes, 0, BIODELAY_MAX_LANES), \
	  "bios the slow disk serves at once: 0 (no limit) to 64, default 0") \
	X(probability, NUMBER(probability, 0, 100), \
	  "share of matched bios delayed: 0 to 100 percent, default 100") \
	X(interval, NUMBER(interval, 1, U32_MAX), \
	  "delay every Nth matched bio: 1 to 2^32-1, default 1") \
	X(times, NUMBER(times, 0, U64_MAX), \
	  "maximum number of delayed bios since arming; default 0: no limit") \
	X(space, NUMBER(space, 0, U64_MAX), \
	  "bytes that pass after arming before the first delay; default 0") \
	X(burst, OWN(burst, .high = U32_MAX), \
	  "ON_MS PERIOD_MS: delay in the first ON_MS of each period; default 0 0: always") \
	X(max_delay_us, NUMBER(max_delay_us, 1, BIODELAY_MAX_DELAY_US), \
	  "cut longer delays to this: 1 to 30000000 us, default 30000000") \
	X(max_inflight, NUMBER(max_inflight, 0, U32_MAX), \
	  "maximum number of held bios, others pass; default 0: no limit") \
	X(ttl_ms, NUMBER(ttl_ms, 0, U32_MAX), \
	  "disarm this long after arming; default 0: never") \
	X(heartbeat_ms, NUMBER(heartbeat_ms, 0, U32_MAX), \
	  "disarm if no attribute was written for this long; default 0: never")

#define BIODELAY_ATTRS(X) \
	BIODELAY_SPEC_ATTRS(X) \
	X(enabled, NONE, "arms the rule: 0 or 1, default 0")

#endif
