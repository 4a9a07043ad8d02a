// SPDX-License-Identifier: GPL-2.0-only
/* hold.c: a claimed bio to a sleeping submitter, its release, and a record */
#include <linux/bio.h>
#include <linux/delay.h>
#include <linux/hashtable.h>
#include <linux/hrtimer.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/spinlock.h>
#include "biodelay.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

static DEFINE_HASHTABLE(table, 8);
static HLIST_HEAD(free_holds);
static struct biodelay_hold *pool;
atomic_t biodelay_tabled; /* entries of the table */
/* Guards the table, the free list and every rule's armed flag. */
static DEFINE_RAW_SPINLOCK(table_lock);

static struct biodelay_hold *find_hold(const struct task_struct *task)
{
	struct biodelay_hold *hold;

	hash_for_each_possible(table, hold, node, (unsigned long)task)
		if (hold->task == task)
			return hold;
	return NULL;
}

static void table_add(struct biodelay_hold *hold, struct task_struct *task)
{
	hold->task = task;
	hash_add(table, &hold->node, (unsigned long)task);
	atomic_inc(&biodelay_tabled);
}

static void table_free(struct biodelay_hold *hold)
{
	hash_del(&hold->node);
	hlist_add_head(&hold->node, &free_holds);
	atomic_dec(&biodelay_tabled);
}

/* Runs in the timer interrupt; the sleeper cannot go before its timer does. */
static enum hrtimer_restart time_is_up(struct hrtimer *timer)
{
	struct biodelay_hold *hold = container_of(timer, struct biodelay_hold, timer);

	WRITE_ONCE(hold->over, true);
	wake_up_process(hold->task);
	return HRTIMER_NORESTART;
}

static void describe(struct biodelay_record *record,
		     struct biodelay_rule *rule,
		     const struct biodelay_spec *spec, const struct bio *bio)
{
	record->t_ns = ktime_get_ns();
	record->dur_ns = 0;
	record->requested_ns = biodelay_draw_delay_ns(rule, spec, record->t_ns);
	record->sector = biodelay_device_sector(&spec->device, bio);
	record->bytes = bio->bi_iter.bi_size;
	record->dev = spec->device.dev;
	record->flags = biodelay_flags_of(bio);
	record->op = biodelay_op_of(bio);
	record->mode = spec->mode;
	record->tid = current->pid;
	memcpy(record->comm, current->comm, TASK_COMM_LEN);
	memcpy(record->rule, rule->name, BIODELAY_NAME_LEN);
}

static bool may_claim(const struct biodelay_rule *rule,
		      const struct biodelay_spec *spec)
{
	if (!rule->armed || hlist_empty(&free_holds) || find_hold(current))
		return false;
	return !spec->max_inflight ||
	       atomic_read(&rule->in_flight) < spec->max_inflight;
}

/**
 * biodelay_hold_claim() - take a bio that is about to be submitted
 * @rule: what it is delayed for
 * @spec: the rule's spec; its mode says who will release the hold
 * @bio: the current task's bio
 *
 * Context: the probe's handler.
 * Return: the hold, or NULL when the rule was disarmed or holds enough, every
 * hold is in use, or the task submits in the middle of its own delay.
 */
struct biodelay_hold *biodelay_hold_claim(struct biodelay_rule *rule,
					  const struct biodelay_spec *spec,
					  struct bio *bio)
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
		describe(&hold->record, rule, spec, bio);
		atomic_inc(&rule->in_flight);
		if (spec->mode == BIODELAY_SLEEP)
			table_add(hold, current);
	}
	raw_spin_unlock_irqrestore(&table_lock, flags);
	return hold;
}

/**
 * biodelay_spin() - keep the CPU for a bio's delay
 * @rule: what it is delayed for
 * @spec: the rule's spec
 * @bio: the current task's bio
 *
 * Context: the probe's handler: preemption is off, hence the low bound.
 */
void biodelay_spin(struct biodelay_rule *rule, const struct biodelay_spec *spec,
		   const struct bio *bio)
{
	struct biodelay_record record;

	describe(&record, rule, spec, bio);
	record.requested_ns = min(record.requested_ns,
				  BIODELAY_MAX_SPIN_US * NSEC_PER_USEC);
	atomic_inc(&rule->in_flight);
	while (READ_ONCE(rule->armed) &&
	       ktime_get_ns() - record.t_ns < record.requested_ns)
		cpu_relax();
	biodelay_account(rule, &record);
	atomic_dec(&rule->in_flight);
}

/**
 * biodelay_hold_release() - let a task's next submission pass
 * @hold: its hold, over; the probe's handler frees it
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
	if (!hash_hashed(&hold->node)) /* a sleeper's is there already */
		table_add(hold, task);
	raw_spin_unlock_irqrestore(&table_lock, flags);
}

/**
 * biodelay_hold_forget() - free a released hold that no probe has freed
 * @hold: released to the current task, whose submission is over
 *
 * Context: any.
 */
void biodelay_hold_forget(struct biodelay_hold *hold)
{
	struct biodelay_hold *found;
	unsigned long flags;

	raw_spin_lock_irqsave(&table_lock, flags);
	found = find_hold(current);
	if (found && found == hold)
		table_free(found);
	raw_spin_unlock_irqrestore(&table_lock, flags);
}

/**
 * biodelay_hold_passes() - whether this call is a detour's way back
 *
 * Deciding by the return address would fail: the way back is a jump, its
 * return address the original caller's. The task is what was marked.
 *
 * Context: the probe's handler, called for a task.
 * Return: true once for each claim, when biodelay_hold() is done with it.
 */
bool biodelay_hold_passes(void)
{
	struct biodelay_hold *hold;
	unsigned long flags;
	bool passes = false;

	raw_spin_lock_irqsave(&table_lock, flags);
	hold = find_hold(current);
	if (hold && hold->passing) {
		table_free(hold);
		passes = true;
	}
	raw_spin_unlock_irqrestore(&table_lock, flags);
	return passes;
}

/* State D and iowait, so that it looks like the blocked disk it plays. */
static void sleep_until_over(struct biodelay_hold *hold)
{
	u64 due_ns = hold->record.t_ns + hold->record.requested_ns;

	hrtimer_start(&hold->timer, ns_to_ktime(due_ns), HRTIMER_MODE_ABS);
	for (;;) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		if (READ_ONCE(hold->over))
			break;
		io_schedule();
	}
	__set_current_state(TASK_RUNNING);
	hrtimer_cancel(&hold->timer);
}

/**
 * biodelay_account() - count and record a bio whose delay is over
 * @rule: what it was delayed for
 * @record: what is known of it but the time it took
 *
 * Context: any but NMI.
 */
void biodelay_account(struct biodelay_rule *rule,
		      struct biodelay_record *record)
{
	record->dur_ns = ktime_get_ns() - record->t_ns;
	biodelay_count(rule, BIODELAY_DELAYED, 1);
	biodelay_count(rule, BIODELAY_TOTAL_DELAY_NS, record->dur_ns);
	biodelay_record_push(record);
	trace_bio_delay(record);
}

/**
 * biodelay_hold() - keep the current task, and its claimed bio, for the delay
 * @bio: the bio
 *
 * Context: the submitter's own. Sleeps only where that may, as far as the
 * kernel counts it: submitters may by contract (might_sleep() in
 * submit_bio_noacct()), but a guest is no place to find out that one breaks it.
 */
asmlinkage void biodelay_hold(struct bio *bio)
{
	struct biodelay_rule *rule;
	struct biodelay_hold *hold;
	unsigned long flags;

	raw_spin_lock_irqsave(&table_lock, flags);
	hold = find_hold(current);
	raw_spin_unlock_irqrestore(&table_lock, flags);

	if (WARN_ON_ONCE(!hold)) /* who is sent here was claimed before */
		return;
	rule = hold->rule;
	if (!preempt_count() && !irqs_disabled() && !rcu_preempt_depth()) {
		sleep_until_over(hold);
		biodelay_account(rule, &hold->record);
	} else {
		biodelay_count(rule, BIODELAY_REFUSED_ATOMIC, 1);
	}
	biodelay_hold_release(hold, current);
	/* Last: a rule that holds nothing may go. */
	atomic_dec(&rule->in_flight);
}

/**
 * biodelay_holds_open() - let a rule claim bios
 * @rule: the rule
 */
void biodelay_holds_open(struct biodelay_rule *rule)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&table_lock, flags);
	rule->armed = true;
	raw_spin_unlock_irqrestore(&table_lock, flags);
}

/**
 * biodelay_holds_close() - end a rule's claims, release everything it holds
 * @rule: the rule
 *
 * Context: may sleep. Returns when nothing is held for @rule any more.
 */
void biodelay_holds_close(struct biodelay_rule *rule)
{
	u64 start_ns = ktime_get_ns();
	struct biodelay_hold *hold;
	unsigned long flags;
	int bucket, held;

	raw_spin_lock_irqsave(&table_lock, flags);
	rule->armed = false;
	held = atomic_read(&rule->in_flight);
	hash_for_each(table, bucket, hold, node) {
		if (hold->rule != rule)
			continue;
		WRITE_ONCE(hold->over, true);
		wake_up_process(hold->task);
	}
	raw_spin_unlock_irqrestore(&table_lock, flags);
	biodelay_defer_flush(rule);

	while (atomic_read(&rule->in_flight))
		usleep_range(200, 1000);
	if (held)
		pr_info("rule %s: %d held bios released in %llu us\n",
			rule->name, held,
			div_u64(ktime_get_ns() - start_ns, NSEC_PER_USEC));
}

/**
 * biodelay_holds_settle() - wait until every task has left the detour
 *
 * A task that left is taken off the table by the probe at the original's
 * entry. Where something kept the probe from firing (kprobes switched off
 * globally, say), the few instructions between are waited out the slow way:
 * none of them sleeps, so a task that has slept or gone to user mode since is
 * through.
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
 * biodelay_holds_init() - prepare room
 * @count: bios that can be held at once, over all rules
 *
 * Made beforehand: the handler that claims holds must not allocate.
 *
 * Return: 0 or -ENOMEM.
 */
int biodelay_holds_init(unsigned int count)
{
	unsigned int i;

	pool = kvcalloc(count, sizeof(*pool), GFP_KERNEL);
	if (!pool)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		hrtimer_setup(&pool[i].timer, time_is_up, CLOCK_MONOTONIC,
			      HRTIMER_MODE_ABS);
		timerqueue_init(&pool[i].due);
		hlist_add_head(&pool[i].node, &free_holds);
	}
	return 0;
}

/** biodelay_holds_exit() - undo biodelay_holds_init(); nothing may be held */
void biodelay_holds_exit(void)
{
	INIT_HLIST_HEAD(&free_holds);
	kvfree(pool);
}
