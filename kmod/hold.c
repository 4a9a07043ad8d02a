// SPDX-License-Identifier: GPL-2.0-only
/* hold.c: the table of held bios, and of tasks whose next submission passes */
#include <linux/bio.h>
#include <linux/delay.h>
#include <linux/hashtable.h>
#include <linux/mm.h>
#include <linux/spinlock.h>
#include "biodelay.h"

static DEFINE_HASHTABLE(table, 8);
static HLIST_HEAD(free_holds);
static struct biodelay_hold *pool;
atomic_t biodelay_tabled; /* entries of the table */
/* Protects the table, the free list and every rule's armed flag. */
static DEFINE_RAW_SPINLOCK(table_lock);

static struct biodelay_hold *find_hold(const struct task_struct *task)
{
	struct biodelay_hold *hold;

	lockdep_assert_held(&table_lock);
	hash_for_each_possible(table, hold, node, (unsigned long)task)
		if (hold->task == task)
			return hold;
	return NULL;
}

static void table_add(struct biodelay_hold *hold, struct task_struct *task)
{
	lockdep_assert_held(&table_lock);
	hold->task = task;
	hash_add(table, &hold->node, (unsigned long)task);
	atomic_inc(&biodelay_tabled);
}

static void table_free(struct biodelay_hold *hold)
{
	lockdep_assert_held(&table_lock);
	hash_del(&hold->node);
	hlist_add_head(&hold->node, &free_holds);
	atomic_dec(&biodelay_tabled);
}

static bool may_claim(const struct biodelay_rule *rule,
		      const struct biodelay_spec *spec)
{
	lockdep_assert_held(&table_lock);
	if (!rule->armed || hlist_empty(&free_holds))
		return false;
	return !spec->max_inflight ||
	       atomic_read(&rule->in_flight) < spec->max_inflight;
}

/**
 * biodelay_hold_claim() - claim a bio that is about to be submitted
 * @rule: the rule that it is delayed by
 * @spec: the rule's spec
 * @bio: the current task's bio
 * @sleeper: the current task if it is to sleep; or NULL
 *
 * Context: the probe's handler, for a task that has no hold.
 * Return: the hold, or NULL if the rule was disarmed or has max_inflight holds, or if
 * all holds are in use.
 */
struct biodelay_hold *biodelay_hold_claim(struct biodelay_rule *rule,
					  const struct biodelay_spec *spec,
					  struct bio *bio,
					  struct task_struct *sleeper)
{
	struct biodelay_hold *hold = NULL;
	unsigned long flags;

	raw_spin_lock_irqsave(&table_lock, flags);
	if (may_claim(rule, spec)) {
		hold = hlist_entry(free_holds.first, struct biodelay_hold,
				   node);
		hlist_del_init(&hold->node);
		hold->bio = bio;
		hold->rule = rule;
		hold->over = false;
		hold->passing = false;
		hold->submitting = false;
		biodelay_record_begin(&hold->record, rule, spec, bio);
		atomic_inc(&rule->in_flight);
		if (sleeper)
			table_add(hold, sleeper);
	}
	raw_spin_unlock_irqrestore(&table_lock, flags);
	return hold;
}

/**
 * biodelay_hold_release() - let a task's next submission pass
 * @hold: its hold, whose delay has ended; the probe's handler frees a sleeper's, and
 *        biodelay_hold_free() a worker's
 * @task: the task
 *
 * Context: any.
 */
void biodelay_hold_release(struct biodelay_hold *hold, struct task_struct *task)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&table_lock, flags);
	hold->rule = NULL;
	hold->passing = true;
	if (!hash_hashed(&hold->node)) { /* a sleeper's is in the table already */
		hold->submitting = true;
		table_add(hold, task);
	}
	raw_spin_unlock_irqrestore(&table_lock, flags);
}

/**
 * biodelay_hold_free() - take a hold off the table
 * @hold: that of a worker whose submission has returned
 *
 * Context: any.
 */
void biodelay_hold_free(struct biodelay_hold *hold)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&table_lock, flags);
	table_free(hold);
	raw_spin_unlock_irqrestore(&table_lock, flags);
}

/**
 * biodelay_hold_passes() - whether the current task's delay has just ended
 *
 * The return address cannot decide this: the delayed call is resumed by a jump, with
 * the return address of the original caller. Therefore the task is marked.
 *
 * A worker's hold stays in the table, which distinguishes its further submissions: those
 * of a stacked device.
 *
 * Context: the probe's handler, called for a task.
 * Return: true once for each claim, after its delay.
 */
bool biodelay_hold_passes(void)
{
	struct biodelay_hold *hold;
	unsigned long flags;
	bool passes = false;

	raw_spin_lock_irqsave(&table_lock, flags);
	hold = find_hold(current);
	if (hold && hold->passing) {
		hold->passing = false;
		if (!hold->submitting)
			table_free(hold);
		passes = true;
	}
	raw_spin_unlock_irqrestore(&table_lock, flags);
	return passes;
}

/**
 * biodelay_hold_current() - the current task's hold
 *
 * Context: any.
 * Return: the hold, or NULL.
 */
struct biodelay_hold *biodelay_hold_current(void)
{
	struct biodelay_hold *hold;
	unsigned long flags;

	raw_spin_lock_irqsave(&table_lock, flags);
	hold = find_hold(current);
	raw_spin_unlock_irqrestore(&table_lock, flags);
	return hold;
}

/**
 * biodelay_holds_allow() - allow a rule to claim bios, or forbid it
 * @rule: the rule
 * @armed: whether it may
 *
 * Return: bios held for @rule.
 */
int biodelay_holds_allow(struct biodelay_rule *rule, bool armed)
{
	unsigned long flags;
	int held;

	raw_spin_lock_irqsave(&table_lock, flags);
	/* Read without the lock by a handler that spins. */
	WRITE_ONCE(rule->armed, armed);
	held = atomic_read(&rule->in_flight);
	raw_spin_unlock_irqrestore(&table_lock, flags);
	return held;
}

/**
 * biodelay_holds_wake() - end the delay of each task that sleeps for a rule
 * @rule: a rule that can no longer claim bios
 *
 * Context: any.
 */
void biodelay_holds_wake(struct biodelay_rule *rule)
{
	struct biodelay_hold *hold;
	unsigned long flags;
	int bucket;

	raw_spin_lock_irqsave(&table_lock, flags);
	hash_for_each(table, bucket, hold, node) {
		if (hold->rule != rule)
			continue;
		WRITE_ONCE(hold->over, true);
		wake_up_process(hold->task);
	}
	raw_spin_unlock_irqrestore(&table_lock, flags);
}

/**
 * biodelay_holds_settle() - wait until every task has left biodelay_entry()
 *
 * The probe takes a task off the table when it fires again at the entry of the
 * original. If the probe did not fire (for example, because kprobes were switched
 * off globally), wait for the few instructions before it with an RCU-tasks grace
 * period: none of them sleeps, so a task that has slept or returned to user mode
 * since has executed them.
 *
 * Context: may sleep; the probe still registered, no rule armed.
 */
void biodelay_holds_settle(void)
{
	struct biodelay_hold *hold;
	struct hlist_node *next;
	unsigned long flags;
	int bucket, tries;

	for (tries = 0; biodelay_holds_any() && tries < 100; tries++)
		usleep_range(200, 1000);
	if (!biodelay_holds_any())
		return;
	biodelay_wait_for_tasks();
	raw_spin_lock_irqsave(&table_lock, flags);
	hash_for_each_safe(table, bucket, next, hold, node)
		table_free(hold);
	raw_spin_unlock_irqrestore(&table_lock, flags);
}

/**
 * biodelay_holds_init() - allocate the holds
 * @count: bios that can be held at once, over all rules
 *
 * The handler that claims holds must not allocate.
 *
 * Return: 0 or -ENOMEM.
 */
int biodelay_holds_init(unsigned int count)
{
	unsigned int i;

	pool = kvcalloc(count, sizeof(*pool), GFP_KERNEL);
	if (!pool)
		return -ENOMEM;
	for (i = 0; i < count; i++)
		hlist_add_head(&pool[i].node, &free_holds);
	return 0;
}

/** biodelay_holds_exit() - undo biodelay_holds_init(); nothing may be held */
void biodelay_holds_exit(void)
{
	INIT_HLIST_HEAD(&free_holds);
	kvfree(pool);
}
