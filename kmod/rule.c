// SPDX-License-Identifier: GPL-2.0-only
/* rule.c: arm and disarm rules; find the rule that matches a bio */
#include <linux/bio.h>
#include <linux/delay.h>
#include <linux/math64.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#include <linux/wait.h>
#include "biodelay.h"

const struct biodelay_mode_ops *const biodelay_modes[BIODELAY_MODES] = {
	[BIODELAY_SLEEP] = &biodelay_sleep_ops,
	[BIODELAY_DEFER] = &biodelay_defer_ops,
	[BIODELAY_SPIN] = &biodelay_spin_ops,
};

/* Both lists, every spec and whether a rule is armed are protected by rules_lock. */
static LIST_HEAD(all_rules);
static LIST_HEAD(armed_rules); /* by order; RCU-protected for readers */
static DECLARE_WAIT_QUEUE_HEAD(disarms); /* for the end of a rule's disarm */

/* Take the lock, once the rule is not being disarmed. */
static void lock_settled(struct biodelay_rule *rule)
{
	biodelay_rules_lock();
	while (rule->disarming) {
		biodelay_rules_unlock();
		wait_event(disarms, !READ_ONCE(rule->disarming));
		biodelay_rules_lock();
	}
}

static struct biodelay_spec *spec_of(const struct biodelay_rule *rule)
{
	biodelay_rules_assert_held();
	return rcu_dereference_protected(rule->spec, true);
}

/*
 * When the block layer splits a bio during submission (bio_split_to_limits() in
 * block/blk-merge.c), the remainder is submitted again, but has been delayed already.
 * It is recognised by being submitted from within a submission and chained to the
 * first part.
 */
static bool is_remainder(const struct bio *bio)
{
	return current->bio_list && (bio->bi_flags & BIT(BIO_CHAIN));
}

/**
 * biodelay_rule_match() - the first armed rule that matches a bio
 * @bio: about to be submitted by the current task
 * @spec: set to the rule's spec, valid while preemption is off
 *
 * Context: preemption off, which is an RCU read-side critical section.
 * Return: the rule or NULL.
 */
struct biodelay_rule *biodelay_rule_match(const struct bio *bio,
					  const struct biodelay_spec **spec)
{
	struct biodelay_rule *rule;

	list_for_each_entry_rcu(rule, &armed_rules, node) {
		*spec = rcu_dereference_check(rule->spec, !preemptible());
		if (!biodelay_device_has(&(*spec)->device, bio) ||
		    is_remainder(bio))
			continue;
		biodelay_count(rule, BIODELAY_SEEN, 1);
		if (!biodelay_match(*spec, bio))
			continue;
		biodelay_count(rule, BIODELAY_MATCHED, 1);
		return rule;
	}
	return NULL;
}

/**
 * biodelay_rule_count() - read one of a rule's counters
 * @rule: the rule
 * @what: the counter
 */
u64 biodelay_rule_count(const struct biodelay_rule *rule,
			enum biodelay_count what)
{
	u64 sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += per_cpu_ptr(rule->counts, cpu)->of[what];
	return sum;
}

/**
 * biodelay_rules_for_each() - call a function for every rule, armed or not
 * @fn: called with each rule and its spec; must not sleep for long
 * @data: its third argument
 */
void biodelay_rules_for_each(void (*fn)(struct biodelay_rule *rule,
					const struct biodelay_spec *spec,
					void *data), void *data)
{
	struct biodelay_rule *rule;

	biodelay_rules_lock();
	list_for_each_entry(rule, &all_rules, all)
		fn(rule, spec_of(rule), data);
	biodelay_rules_unlock();
}

static void insert_by_order(struct biodelay_rule *rule)
{
	struct biodelay_rule *other;

	biodelay_rules_assert_held();
	list_for_each_entry(other, &armed_rules, node)
		if (spec_of(other)->order > spec_of(rule)->order)
			break;
	list_add_tail_rcu(&rule->node, &other->node);
}

/* When the rule disarms itself, or U64_MAX. */
static u64 expires_ns(const struct biodelay_rule *rule)
{
	const struct biodelay_spec *spec = spec_of(rule);
	u64 ttl_ns = U64_MAX, beat_ns = U64_MAX;

	if (spec->ttl_ms)
		ttl_ns = rule->armed_ns + spec->ttl_ms * NSEC_PER_MSEC;
	if (spec->heartbeat_ms)
		beat_ns = rule->beat_ns + spec->heartbeat_ms * NSEC_PER_MSEC;
	return min(ttl_ns, beat_ns);
}

static void watch_expiry(struct biodelay_rule *rule)
{
	u64 at_ns = expires_ns(rule), now_ns = ktime_get_ns();

	if (at_ns == U64_MAX)
		return;
	mod_delayed_work(system_wq, &rule->expiry,
			 at_ns > now_ns ? nsecs_to_jiffies(at_ns - now_ns) + 1 :
					  0);
}

static void stop_modes(struct biodelay_rule *rule, int count)
{
	while (count--)
		if (biodelay_modes[count]->stop)
			biodelay_modes[count]->stop(rule);
}

/* Start all modes, because a rule's mode may change while it is armed. */
static int start_modes(struct biodelay_rule *rule)
{
	int i, err = 0;

	for (i = 0; i < BIODELAY_MODES; i++) {
		if (biodelay_modes[i]->start)
			err = biodelay_modes[i]->start(rule);
		if (err) {
			stop_modes(rule, i);
			return err;
		}
	}
	return 0;
}

/* Release what the rule holds. Others can be written and expire: the lock is dropped. */
static void release(struct biodelay_rule *rule, int held)
{
	u64 start_ns = ktime_get_ns();
	int i;

	for (i = 0; i < BIODELAY_MODES; i++)
		if (biodelay_modes[i]->flush)
			biodelay_modes[i]->flush(rule);
	biodelay_rules_unlock();
	while (atomic_read(&rule->in_flight))
		usleep_range(200, 1000);
	biodelay_rules_lock();
	if (held)
		pr_info("rule %s: %d held bios released in %llu us\n",
			rule->name, held,
			div_u64(ktime_get_ns() - start_ns, NSEC_PER_USEC));
}

static int arm(struct biodelay_rule *rule)
{
	const struct biodelay_spec *spec = spec_of(rule);
	int err = biodelay_spec_check(spec) ?:
		  biodelay_guard_device(&spec->device, spec->force) ?:
		  start_modes(rule);

	if (err)
		return err;
	err = biodelay_hook_get();
	if (err) {
		stop_modes(rule, BIODELAY_MODES);
		return err;
	}
	biodelay_draws_init(&rule->draws);
	rule->armed_ns = ktime_get_ns();
	rule->beat_ns = rule->armed_ns;
	biodelay_holds_allow(rule, true);
	insert_by_order(rule);
	watch_expiry(rule);
	return 0;
}

static void disarm(struct biodelay_rule *rule)
{
	biodelay_rules_assert_held();
	list_del_rcu(&rule->node);
	WRITE_ONCE(rule->disarming, true);
	release(rule, biodelay_holds_allow(rule, false));
	biodelay_hook_put();
	stop_modes(rule, BIODELAY_MODES);
	WRITE_ONCE(rule->disarming, false);
	wake_up_all(&disarms);
}

static void expire(struct work_struct *work)
{
	struct biodelay_rule *rule = container_of(to_delayed_work(work),
						  struct biodelay_rule, expiry);

	biodelay_rules_lock();
	if (rule->armed && ktime_get_ns() >= expires_ns(rule)) {
		pr_info("rule %s disarmed by itself: its ttl_ms or heartbeat_ms ran out\n",
			rule->name);
		disarm(rule);
	} else if (rule->armed) {
		watch_expiry(rule);
	}
	biodelay_rules_unlock();
}

/**
 * biodelay_rule_new() - create a rule, disarmed and without a device
 * @name: for records and the status file
 *
 * Context: may sleep.
 * Return: the rule, or NULL if out of memory.
 */
struct biodelay_rule *biodelay_rule_new(const char *name)
{
	struct biodelay_rule *rule = kzalloc(sizeof(*rule), GFP_KERNEL);
	struct biodelay_spec *spec = kvmalloc(sizeof(*spec), GFP_KERNEL);

	if (rule)
		rule->counts = alloc_percpu(struct biodelay_counts);
	if (!rule || !spec || !rule->counts) {
		if (rule)
			free_percpu(rule->counts);
		kvfree(spec);
		kfree(rule);
		return NULL;
	}
	strscpy(rule->name, name, sizeof(rule->name));
	biodelay_spec_init(spec);
	RCU_INIT_POINTER(rule->spec, spec);
	INIT_DELAYED_WORK(&rule->expiry, expire);
	biodelay_rules_lock();
	list_add_tail(&rule->all, &all_rules);
	biodelay_rules_unlock();
	return rule;
}

/**
 * biodelay_rule_remove() - disarm a rule and free it
 * @rule: the rule, or NULL
 *
 * Context: may sleep. All bios held for the rule are released.
 */
void biodelay_rule_remove(struct biodelay_rule *rule)
{
	if (!rule)
		return;
	lock_settled(rule);
	if (rule->armed)
		disarm(rule);
	list_del(&rule->all);
	biodelay_rules_unlock();
	cancel_delayed_work_sync(&rule->expiry);
	biodelay_spec_drop(rcu_dereference_protected(rule->spec, true), NULL);
	free_percpu(rule->counts);
	kfree(rule);
}

static int set_enabled(struct biodelay_rule *rule, const char *value)
{
	bool wanted = sysfs_streq(value, "1");

	if (!wanted && !sysfs_streq(value, "0")) {
		pr_err("enabled: must be 0 or 1\n");
		return -EINVAL;
	}
	if (wanted == rule->armed)
		return 0;
	if (wanted)
		return arm(rule);
	disarm(rule);
	return 0;
}

/* The guard opens partitions and walks inodes: not at every heartbeat. */
static int check_change(const struct biodelay_rule *rule,
			const struct biodelay_spec *spec, const char *attr)
{
	int err = rule->armed ? biodelay_spec_check(spec) : 0;

	if (!err && (!strcmp(attr, "device") ||
		     (rule->armed && !strcmp(attr, "force"))))
		err = biodelay_guard_device(&spec->device, spec->force);
	return err;
}

static int set_spec(struct biodelay_rule *rule, const char *attr,
		    const char *value)
{
	struct biodelay_spec *new = kvmalloc(sizeof(*new), GFP_KERNEL);
	struct biodelay_spec *old = spec_of(rule);
	bool moves;
	int err;

	if (!new)
		return -ENOMEM;
	*new = *old;
	err = biodelay_spec_set(new, attr, value) ?:
	      check_change(rule, new, attr);
	if (err) {
		biodelay_spec_drop(new, old);
		return err;
	}
	moves = rule->armed && new->order != old->order;
	if (moves) {
		list_del_rcu(&rule->node);
		biodelay_wait_for_handlers();
	}
	rcu_assign_pointer(rule->spec, new);
	if (moves)
		insert_by_order(rule);
	if (rule->armed)
		biodelay_wait_for_handlers();
	biodelay_spec_drop(old, new);
	return 0;
}

/**
 * biodelay_rule_set() - write one of a rule's attributes
 * @rule: the rule, armed or not
 * @attr: one of attrs.h
 * @value: the text
 *
 * Held bios keep their delay. A write waits for a disarm of the same rule.
 *
 * Context: may sleep.
 * Return: 0, or a distinct error for each mistake; then nothing has changed.
 */
int biodelay_rule_set(struct biodelay_rule *rule, const char *attr,
		      const char *value)
{
	int err;

	lock_settled(rule);
	if (!strcmp(attr, "enabled"))
		err = set_enabled(rule, value);
	else
		err = set_spec(rule, attr, value);
	if (!err && rule->armed) {
		rule->beat_ns = ktime_get_ns();
		watch_expiry(rule);
	}
	biodelay_rules_unlock();
	return err;
}

/**
 * biodelay_rule_show() - read one of a rule's attributes
 * @rule: the rule
 * @attr: one of attrs.h
 * @page: PAGE_SIZE bytes
 *
 * Return: characters printed, including a trailing newline.
 */
int biodelay_rule_show(struct biodelay_rule *rule, const char *attr,
		       char *page)
{
	int n;

	biodelay_rules_lock();
	if (!strcmp(attr, "enabled"))
		n = sprintf(page, "%d", rule->armed);
	else
		n = biodelay_spec_show(spec_of(rule), attr, page);
	biodelay_rules_unlock();
	n = min_t(int, n, PAGE_SIZE - 2);
	return n + sprintf(page + n, "\n");
}
