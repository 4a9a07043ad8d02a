// SPDX-License-Identifier: GPL-2.0-only
/* defer.c: mode defer: a thread submits the bio when it is due */
#include <linux/bio.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include "biodelay.h"

static struct biodelay_hold *first_hold(struct biodelay_queue *queue)
{
	struct timerqueue_node *node;

	lockdep_assert_held(&queue->lock);
	node = timerqueue_getnext(&queue->due);
	return node ? container_of(node, struct biodelay_hold, due) : NULL;
}

static enum hrtimer_restart time_is_up(struct hrtimer *timer)
{
	struct biodelay_queue *queue = container_of(timer,
						    struct biodelay_queue,
						    timer);

	wake_up_process(queue->worker);
	return HRTIMER_NORESTART;
}

/* The first hold that is due, or NULL with the timer armed for the next one. */
static struct biodelay_hold *take_due(struct biodelay_queue *queue)
{
	struct biodelay_hold *hold;
	unsigned long flags;

	raw_spin_lock_irqsave(&queue->lock, flags);
	hold = first_hold(queue);
	if (hold && !queue->flushing &&
	    ktime_after(hold->due.expires, ktime_get())) {
		hrtimer_start(&queue->timer, hold->due.expires,
			      HRTIMER_MODE_ABS);
		hold = NULL;
	}
	if (hold)
		timerqueue_del(&queue->due, &hold->due);
	raw_spin_unlock_irqrestore(&queue->lock, flags);
	return hold;
}

static void submit(struct biodelay_rule *rule, struct biodelay_hold *hold)
{
	struct bio *bio = hold->bio;

	biodelay_record_end(&hold->record, rule);
	biodelay_hold_release(hold, current);
	BIODELAY_PROBED(bio);
	biodelay_hold_free(hold);
	/* Last: a rule that holds nothing may be freed, with its worker. */
	atomic_dec(&rule->in_flight);
}

/* Bios are submitted in order of due time: equal delays keep bios in order. */
static int work(void *data)
{
	struct biodelay_rule *rule = data;
	struct biodelay_hold *hold;

	/* Submitting must not wait for memory whose reclaim waits for a bio. */
	memalloc_noio_save();
	for (;;) {
		set_current_state(TASK_IDLE);
		hold = take_due(&rule->queue);
		if (hold) {
			__set_current_state(TASK_RUNNING);
			submit(rule, hold);
			continue;
		}
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

/* A bio claimed before the flush, but queued after it, is due at once. */
static void enqueue(struct biodelay_queue *queue, struct biodelay_hold *hold)
{
	unsigned long flags;
	bool first;

	timerqueue_init(&hold->due);
	hold->due.expires = ns_to_ktime(hold->record.t_ns +
					hold->record.requested_ns);
	raw_spin_lock_irqsave(&queue->lock, flags);
	first = timerqueue_add(&queue->due, &hold->due);
	if (first || queue->flushing)
		hrtimer_start(&queue->timer,
			      queue->flushing ? ns_to_ktime(0) : hold->due.expires,
			      HRTIMER_MODE_ABS);
	raw_spin_unlock_irqrestore(&queue->lock, flags);
}

/*
 * For the submitter the submission ends here, as it does when a driver has queued
 * a bio; flushes require no order among bios that have not completed.
 *
 * Skip the call: return through hex_to_bin(), which is outside the module, so
 * unload need not wait. It returns -1 for a character that is not a digit. Up to
 * 5.15 the probed function returned a polling cookie (3e08773c3841, "block: switch
 * polling to be bio based", 5.16); -1 is BLK_QC_T_NONE, nothing to poll for.
 */
static int defer_delay(struct biodelay_rule *rule,
		       const struct biodelay_spec *spec, struct bio *bio,
		       struct pt_regs *regs)
{
	struct biodelay_hold *hold = biodelay_hold_claim(rule, spec, bio, NULL);

	if (!hold)
		return -EBUSY;
	if (BIODELAY_PAUSE_MS) /* for tests: kmod/Kbuild */
		mdelay(BIODELAY_PAUSE_MS);
	biodelay_keep_submitter(bio);
	enqueue(&rule->queue, hold);
	BIODELAY_ARGUMENT(regs) = '\0';
	instruction_pointer_set(regs, (unsigned long)hex_to_bin);
	return 1;
}

static void defer_flush(struct biodelay_rule *rule)
{
	struct biodelay_queue *queue = &rule->queue;
	unsigned long flags;

	raw_spin_lock_irqsave(&queue->lock, flags);
	queue->flushing = true;
	raw_spin_unlock_irqrestore(&queue->lock, flags);
	wake_up_process(queue->worker);
}

/* Real-time priority: a busy CPU must not add to the delay. */
static int defer_start(struct biodelay_rule *rule)
{
	struct biodelay_queue *queue = &rule->queue;
	struct task_struct *worker;

	worker = kthread_create(work, rule, "biodelay/%s", rule->name);
	if (IS_ERR(worker))
		return PTR_ERR(worker);
	sched_set_fifo(worker);
	raw_spin_lock_init(&queue->lock);
	timerqueue_init_head(&queue->due);
	hrtimer_setup(&queue->timer, time_is_up, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS);
	queue->flushing = false;
	queue->worker = worker;
	wake_up_process(worker);
	return 0;
}

/* Called when the rule no longer holds bios. */
static void defer_stop(struct biodelay_rule *rule)
{
	hrtimer_cancel(&rule->queue.timer);
	kthread_stop(rule->queue.worker);
}

const struct biodelay_mode_ops biodelay_defer_ops = {
	.start = defer_start,
	.delay = defer_delay,
	.flush = defer_flush,
	.stop = defer_stop,
};
