/* SPDX-License-Identifier: GPL-2.0-only */
/* biodelay.h: structures and functions shared by the module's files */
#ifndef BIODELAY_H
#define BIODELAY_H

#include <linux/atomic.h>
#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/timerqueue.h>
#include <linux/workqueue.h>
#include "attrs.h"
#include "compat.h"
#include "record.h"

#define BIODELAY_VERSION "0.1.0"
#define BIODELAY_PARAM_RULE "param" /* the rule of the module parameters */
#define BIODELAY_GLOB_LEN 64
#define BIODELAY_MAX_LANES 64
#define BIODELAY_MAX_POINTS 256
#define BIODELAY_MAX_SEGMENTS 2048U
#define BIODELAY_MAX_SEGMENT_POINTS 64U /* a page shows at least one segment */
#define BIODELAY_MAX_SERIES_POINTS 8192U

/* Far below the hung-task detector's 120 s, to which several delays may add up. */
#define BIODELAY_MAX_DELAY_US 30000000ULL
/* Far below the 20 s of the soft-lockup detector: spinning occupies a CPU. */
#define BIODELAY_MAX_SPIN_US 1000000ULL

#define BIODELAY_PPB 1000000000U

/**
 * struct biodelay_device - the block device of a rule; holds no reference to it
 * @dev: number of the disk or partition
 * @disk: number of the disk
 * @id: identity of the disk: another one may get its number (biodelay_disk_id())
 * @partno: of the partition; 0 for a whole disk, including its partitions
 * @start: its first sector on the disk
 * @zoned: its writes must keep their order
 * @name: its kernel name
 */
struct biodelay_device {
	dev_t dev;
	dev_t disk;
	u64 id;
	u8 partno;
	sector_t start;
	bool zoned;
	char name[BIODELAY_NAME_LEN];
};

/** struct biodelay_range - from @first to @last, inclusive */
struct biodelay_range {
	u64 first;
	u64 last;
};

/**
 * struct biodelay_point - a quantile of delays
 * @ppb: share of delays that are at most @ns, in 1e-9
 * @ns: nanoseconds
 */
struct biodelay_point {
	u32 ppb;
	u64 ns;
};

/**
 * struct biodelay_quantiles - a distribution of delays, by its quantiles
 * @count: points used; 0 for no delay at all
 * @at: points, increasing in both; delays are uniform between two points
 */
struct biodelay_quantiles {
	u32 count;
	struct biodelay_point at[BIODELAY_MAX_POINTS];
};

/**
 * struct biodelay_series - distributions that follow one another
 * @segments: segments used, at least 1
 * @points: points used
 * @from: segments, increasing in @ms; each lasts until the next, the last for ever
 * @from.ms: when it begins, since the rule was armed
 * @from.first: its first point; the last is the one before the next segment's
 * @at: points of all segments; a segment without any delays nothing
 */
struct biodelay_series {
	u32 segments;
	u32 points;
	struct {
		u32 ms;
		u32 first;
	} from[BIODELAY_MAX_SEGMENTS];
	struct biodelay_point at[BIODELAY_MAX_SERIES_POINTS];
};

/**
 * struct biodelay_spec - the attributes of a rule; constant once published
 *
 * One field for each attribute of attrs.h; README.md gives units and ranges. Masks
 * have one bit for each value of their enum. The series, NULL without one, is shared by
 * the specs that follow until it is written: biodelay_spec_drop().
 */
struct biodelay_spec {
	struct biodelay_device device;
	char force[BIODELAY_NAME_LEN];
	char submitter[BIODELAY_GLOB_LEN];
	struct biodelay_quantiles delay;
	struct biodelay_series *series;
	struct biodelay_range sectors;
	struct biodelay_range bytes;
	u32 ops;
	u32 flags_any;
	u32 flags_none;
	u32 mode;
	u32 kind;
	u64 order;
	u64 pid;
	u64 cgroup;
	u64 seed;
	u64 correlation;
	u64 lanes;
	u64 probability;
	u64 interval;
	u64 times;
	u64 space;
	u64 burst_on_ms;
	u64 burst_period_ms;
	u64 max_delay_us;
	u64 max_inflight;
	u64 ttl_ms;
	u64 heartbeat_ms;
};

struct biodelay_counts {
	u64 of[BIODELAY_COUNTS];
};

/**
 * struct biodelay_draws - a rule's random number state since it was armed
 * @lock: protects the rest
 * @seeded: random numbers drawn
 * @matched: bios that reached the draws, for interval
 * @times: bios delayed
 * @space: bytes passed, for space
 * @last_ns: last delay drawn, for correlation
 * @lane_free_ns: time at which each lane becomes free, CLOCK_MONOTONIC
 */
struct biodelay_draws {
	raw_spinlock_t lock;
	u64 seeded;
	u64 matched;
	u64 times;
	u64 space;
	u64 last_ns;
	u64 lane_free_ns[BIODELAY_MAX_LANES];
};

/**
 * struct biodelay_queue - deferred bios, and the thread that submits them
 * @lock: protects @due; taken by the probe's handler
 * @due: holds by due time, equal ones in order of submission
 * @timer: expires when the earliest is due
 * @worker: submits them; exists while the rule is armed
 * @flushing: everything is due now
 */
struct biodelay_queue {
	raw_spinlock_t lock;
	struct timerqueue_head due;
	struct hrtimer timer;
	struct task_struct *worker;
	bool flushing;
};

/**
 * struct biodelay_rule - a rule: its spec and its state
 * @node: in the list of armed rules, RCU-protected, changed under rules_lock
 * @all: in the list of all rules, under the same lock
 * @name: for records and the status file
 * @spec: its attributes; RCU-protected, replaced under rules_lock
 * @armed: whether it claims bios; changed under the table lock of hold.c
 * @disarming: no longer armed, but its bios are being released; under rules_lock
 * @armed_ns: time of arming, CLOCK_MONOTONIC
 * @beat_ns: last heartbeat (attribute write)
 * @expiry: disarms it when ttl or heartbeat expires
 * @in_flight: bios held for it
 * @draws: random number state
 * @queue: deferred bios
 * @counts: per-CPU counters
 */
struct biodelay_rule {
	struct list_head node;
	struct list_head all;
	char name[BIODELAY_NAME_LEN];
	struct biodelay_spec __rcu *spec;
	bool armed;
	bool disarming;
	u64 armed_ns;
	u64 beat_ns;
	struct delayed_work expiry;
	atomic_t in_flight;
	struct biodelay_draws draws;
	struct biodelay_queue queue;
	struct biodelay_counts __percpu *counts;
};

static inline void biodelay_count(struct biodelay_rule *rule,
				  enum biodelay_count what, u64 n)
{
	this_cpu_add(rule->counts->of[what], n);
}

/**
 * struct biodelay_hold - a bio that is being delayed
 * @node: in the table of holds by @task, or in the list of free ones
 * @due: in the queue of its rule, by due time (defer)
 * @task: submitter (sleep) or worker (defer); in one hold at a time
 * @bio: the bio (defer)
 * @rule: the rule that it is delayed by; valid until the hold is freed
 * @timer: ends the delay (sleep)
 * @over: the delay has ended or was cut short; set by the timer or a disarm (sleep)
 * @passing: @task is about to call the original: do not delay that call
 * @submitting: @task, a worker, has called it, and has not returned (defer)
 * @record: its record
 */
struct biodelay_hold {
	struct hlist_node node;
	struct timerqueue_node due;
	struct task_struct *task;
	struct bio *bio;
	struct biodelay_rule *rule;
	struct hrtimer timer;
	bool over;
	bool passing;
	bool submitting;
	struct biodelay_record record;
};

/* spec.c: parse and print attributes */
void biodelay_spec_init(struct biodelay_spec *spec);
int biodelay_spec_set(struct biodelay_spec *spec, const char *attr,
		      const char *value);
int biodelay_spec_show(const struct biodelay_spec *spec, const char *attr,
		       char *page);
void biodelay_spec_drop(struct biodelay_spec *spec,
			const struct biodelay_spec *kept);

/* check.c: whether a spec may be armed on this kernel */
int biodelay_spec_check(const struct biodelay_spec *spec);

/* quantiles.c: distributions of delays */
int biodelay_point_parse(struct biodelay_point *at, u32 *count, u32 most,
			 char *word);
int biodelay_points_check(const struct biodelay_point *at, u32 count);
int biodelay_points_print(const struct biodelay_point *at, u32 count, char *out,
			  size_t size);
u64 biodelay_points_quantile_ns(const struct biodelay_point *at, u32 count,
				u32 ppb);
int biodelay_delay_parse(struct biodelay_quantiles *delay, char *words);
int biodelay_delay_show(const struct biodelay_quantiles *delay, char *page);

/* series.c: distributions that follow one another */
void biodelay_series_copy(struct biodelay_series *to,
			  const struct biodelay_series *from);
int biodelay_series_parse(struct biodelay_series *series, char *words);
int biodelay_series_show(const struct biodelay_series *series, char *page);
const struct biodelay_point *
biodelay_series_at(const struct biodelay_series *series, u64 ms, u32 *count);
u64 biodelay_series_longest_ns(const struct biodelay_series *series);

/* delay.c: the delays drawn from a distribution */
void biodelay_draws_init(struct biodelay_draws *draws);
bool biodelay_draw_whether(struct biodelay_rule *rule,
			   const struct biodelay_spec *spec, u32 bytes);
u64 biodelay_draw_delay_ns(struct biodelay_rule *rule,
			   const struct biodelay_spec *spec, u64 now_ns);

/* device.c: find a device by name; compare a bio's with a rule's */
int biodelay_device_find(struct biodelay_device *device, const char *name);
bool biodelay_device_has(const struct biodelay_device *device,
			 const struct bio *bio);
bool biodelay_device_is_same(const struct biodelay_device *device,
			     const struct bio *bio);
u64 biodelay_device_sector(const struct biodelay_device *device,
			   const struct bio *bio);

/* guard.c: disks and machines that must not be slowed down by mistake */
int biodelay_guard_machine(bool allow_bare_metal);
int biodelay_guard_device(const struct biodelay_device *device,
			  const char *force);

/* match.c: whether a spec matches a bio and its submitter */
bool biodelay_match(const struct biodelay_spec *spec, const struct bio *bio);

/* lock.c: the lock of the rules */
void biodelay_rules_lock(void);
void biodelay_rules_unlock(void);
bool biodelay_rules_are_mine(void);
void biodelay_rules_assert_held(void);

/* rule.c: rules, modes, and the rule that matches a bio */
extern const struct biodelay_mode_ops *const biodelay_modes[BIODELAY_MODES];
struct biodelay_rule *biodelay_rule_match(const struct bio *bio,
					  const struct biodelay_spec **spec);
struct biodelay_rule *biodelay_rule_new(const char *name);
void biodelay_rule_remove(struct biodelay_rule *rule);
int biodelay_rule_set(struct biodelay_rule *rule, const char *attr,
		      const char *value);
int biodelay_rule_show(struct biodelay_rule *rule, const char *attr,
		       char *page);
u64 biodelay_rule_count(const struct biodelay_rule *rule,
			enum biodelay_count what);
void biodelay_rules_for_each(void (*fn)(struct biodelay_rule *rule,
					const struct biodelay_spec *spec,
					void *data), void *data);

/* hook.c: the probe of submit_bio_noacct() */
int biodelay_hook_init(kprobe_pre_handler_t handler);
void biodelay_hook_leave(void);
void biodelay_hook_exit(void);
int biodelay_hook_get(void);
void biodelay_hook_put(void);
unsigned long biodelay_hook_missed(void);

/* catch.c: the probe's handler */
int biodelay_catch(struct kprobe *probe, struct pt_regs *regs);

/* hook_entry_*.S: call biodelay_hold() of sleep.c, then jump to the original */
asmlinkage void biodelay_entry(void);
asmlinkage void biodelay_hold(struct bio *bio);

/* hold.c: held bios, and tasks whose next submission passes */
extern atomic_t biodelay_tabled;

#define biodelay_holds_any() atomic_read(&biodelay_tabled) /* takes no lock */
int biodelay_holds_init(unsigned int count);
void biodelay_holds_exit(void);
struct biodelay_hold *biodelay_hold_claim(struct biodelay_rule *rule,
					  const struct biodelay_spec *spec,
					  struct bio *bio,
					  struct task_struct *sleeper);
struct biodelay_hold *biodelay_hold_current(void);
void biodelay_hold_free(struct biodelay_hold *hold);
bool biodelay_hold_passes(void);
void biodelay_hold_release(struct biodelay_hold *hold,
			   struct task_struct *task);
int biodelay_holds_allow(struct biodelay_rule *rule, bool armed);
void biodelay_holds_wake(struct biodelay_rule *rule);
void biodelay_holds_settle(void);

/**
 * struct biodelay_mode_ops - a mode of delaying; all but @delay may be NULL
 * @start: prepare a rule that is about to be armed; 0 or an errno
 * @delay: delay a bio, in the probe's handler; 1 if its submitter was redirected,
 *         0 if not, -EBUSY if the bio must pass undelayed
 * @flush: end the delays of a rule that can no longer claim bios; do not wait
 * @stop: undo @start for a rule that holds nothing
 */
struct biodelay_mode_ops {
	int (*start)(struct biodelay_rule *rule);
	int (*delay)(struct biodelay_rule *rule,
		     const struct biodelay_spec *spec, struct bio *bio,
		     struct pt_regs *regs);
	void (*flush)(struct biodelay_rule *rule);
	void (*stop)(struct biodelay_rule *rule);
};

/* sleep.c, defer.c, spin.c */
extern const struct biodelay_mode_ops biodelay_sleep_ops;
extern const struct biodelay_mode_ops biodelay_defer_ops;
extern const struct biodelay_mode_ops biodelay_spin_ops;

/* record.c: records of delayed bios, and the debugfs file that returns them */
int biodelay_records_init(unsigned int per_cpu);
void biodelay_records_exit(void);
void biodelay_record_begin(struct biodelay_record *record,
			   struct biodelay_rule *rule,
			   const struct biodelay_spec *spec,
			   const struct bio *bio);
void biodelay_record_end(struct biodelay_record *record,
			 struct biodelay_rule *rule);
void biodelay_records_count(u64 *written, u64 *lost);
extern const struct file_operations biodelay_record_fops;

/* status.c: the debugfs directory */
int biodelay_status_init(void);
void biodelay_status_publish(void);
void biodelay_status_exit(void);

/* configfs.c: one configfs directory per rule */
int biodelay_configfs_init(void);
void biodelay_configfs_exit(void);

#endif
