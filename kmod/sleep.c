// SPDX-License-Identifier: GPL-2.0-only
/* sleep.c: mode sleep: the submitter sleeps before its bio is submitted */
#include <linux/bio.h>
#include <linux/hrtimer.h>
#include "biodelay.h"

/* Runs in the timer interrupt; the sleeper waits for it when cancelling. */
static enum hrtimer_restart time_is_up(struct hrtimer *timer)
{
	struct biodelay_hold *hold = container_of(timer, struct biodelay_hold,
						  timer);

	WRITE_ONCE(hold->over, true);
	wake_up_process(hold->task);
	return HRTIMER_NORESTART;
}

/* Sleep in state D and iowait, like a task that waits for a slow disk. */
static void sleep_until_over(struct biodelay_hold *hold)
{
	u64 due_ns = hold->record.t_ns + hold->record.requested_ns;

	hrtimer_setup(&hold->timer, time_is_up, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS);
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
 * biodelay_hold() - keep the current task, and its claimed bio, for the delay
 * @bio: the bio
 *
 * Context: that of the submitter. Sleeps only if preempt_count() and the like allow
 * it: submitters may sleep (might_sleep() in submit_bio_noacct()), but one that
 * violates this must not crash the guest.
 */
asmlinkage void biodelay_hold(struct bio *bio)
{
	struct biodelay_hold *hold = biodelay_hold_current();
	struct biodelay_rule *rule;

	if (WARN_ON_ONCE(!hold)) /* only a task with a claim is redirected */
		return;
	rule = hold->rule;
	if (!preempt_count() && !irqs_disabled() && !rcu_preempt_depth()) {
		sleep_until_over(hold);
		biodelay_record_end(&hold->record, rule);
	} else {
		biodelay_count(rule, BIODELAY_REFUSED_ATOMIC, 1);
	}
	biodelay_hold_release(hold, current);
	/* Last: a rule that holds nothing may be freed. */
	atomic_dec(&rule->in_flight);
}

/* Return to biodelay_entry(), which calls biodelay_hold() and then the original. */
static int sleep_delay(struct biodelay_rule *rule,
		       const struct biodelay_spec *spec, struct bio *bio,
		       struct pt_regs *regs)
{
	if (!biodelay_hold_claim(rule, spec, bio, current))
		return -EBUSY;
	instruction_pointer_set(regs, (unsigned long)biodelay_entry);
	return 1;
}

const struct biodelay_mode_ops biodelay_sleep_ops = {
	.delay = sleep_delay,
	.flush = biodelay_holds_wake,
};
