/* SPDX-License-Identifier: GPL-2.0-only */
/* attrs.h: names and descriptions of a rule's attributes */
#ifndef BIODELAY_ATTRS_H
#define BIODELAY_ATTRS_H

/*
 * X(NAME, DESCRIPTION): each is a file in configfs and a module parameter.
 * Parameters are applied in this order: force before what it overrides, enabled
 * last.
 */
#define BIODELAY_ATTRS(X) \
	X(force, "the device's kernel name again, to allow root's, the module's or a swap disk") \
	X(device, "disk or partition: MAJ:MIN, a name (vdb) or a path; required to arm") \
	X(order, "rules are tried in ascending order: 0 to 1000000, default 1000") \
	X(ops, "operations, a list of read,write,flush,discard,zeroes,other; default all") \
	X(flags_any, "bios with at least one of SYNC,META,PRIO,FUA,PREFLUSH,RAHEAD; default: any") \
	X(flags_none, "bios with none of SYNC,META,PRIO,FUA,PREFLUSH,RAHEAD; default: any") \
	X(submitter, "glob on the submitting task's comm (jbd2/*), 1 to 63 characters; default *") \
	X(kind, "submitter is anyone, user, kthread or writeback; default anyone") \
	X(pid, "submitter's process id; default 0: any") \
	X(cgroup, "submitter's cgroup id (inode number in cgroup2); default 0: any") \
	X(sectors, "bios that overlap FIRST-LAST, 512-byte sectors of the device; default all") \
	X(bytes, "bios of FIRST-LAST bytes; default all") \
	X(mode, "how to delay: sleep, defer or spin; default sleep") \
	X(delay, "NS or table PPB:NS ... (repro/delay-table); required to arm") \
	X(delay_us, "fixed delay in microseconds, 1 to 30000000; short for delay") \
	X(seed, "seed of the random numbers: 0 to 2^64-1, default 1") \
	X(correlation, "probability of repeating the last delay: 0 to 1000 permille, default 0") \
	X(lanes, "bios the slow disk serves at once: 0 (no limit) to 64, default 0") \
	X(probability, "share of matched bios delayed: 0 to 100 percent, default 100") \
	X(interval, "delay every Nth matched bio: 1 to 2^32-1, default 1") \
	X(times, "maximum number of delayed bios since arming; default 0: no limit") \
	X(space, "bytes that pass after arming before the first delay; default 0") \
	X(burst, "ON_MS PERIOD_MS: delay in the first ON_MS of each period; default 0 0: always") \
	X(max_delay_us, "cut longer delays to this: 1 to 30000000 us, default 30000000") \
	X(max_inflight, "maximum number of held bios, others pass; default 0: no limit") \
	X(ttl_ms, "disarm this long after arming; default 0: never") \
	X(heartbeat_ms, "disarm if no attribute was written for this long; default 0: never") \
	X(enabled, "arms the rule: 0 or 1, default 0")

#endif
