// SPDX-License-Identifier: GPL-2.0-only
/* defer.c: a claimed bio to its submission by a worker when it is due */
#include <linux/bio.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include "biodelay.h"

static struct biodelay_hold *first_hold(struct biodelay_queue *queue)
{
	struct timerqueue_node *node = timerqueue_getnext(&queue->due);

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

/* The first hold that is due, or NULL with the timer set for the next one. */
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

	biodelay_account(rule, &hold->record);
	biodelay_hold_release(hold, current);
	BIODELAY_PROBED(bio);
	biodelay_hold_forget(hold);
	/* Last: a rule that holds nothing may go, and its worker with it. */
	atomic_dec(&rule->in_flight);
}

/* Bios go down in the order they are due: equal delays keep bios in order. */
static int work(void *data)
{
	struct biodelay_rule *rule = data;
	struct biodelay_hold *hold;

	/* What it submits must not wait for memory that waits for a bio. */
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

/**
 * biodelay_defer() - put a claimed bio off until it is due
 * @hold: its hold, which the rule's worker releases
 *
 * The caller's submission is over with this, as it is when a driver has queued
 * a bio; flushes need no order among bios that have not completed.
 *
 * Context: the probe's handler.
 */
void biodelay_defer(struct biodelay_hold *hold)
{
	struct biodelay_queue *queue = &hold->rule->queue;
	unsigned long flags;
	bool first;

	hold->due.expires = ns_to_ktime(hold->record.t_ns +
					hold->record.requested_ns);
	raw_spin_lock_irqsave(&queue->lock, flags);
	first = timerqueue_add(&queue->due, &hold->due);
	/* A bio claimed before the flush, but queued after it, is due at once. */
	if (first || queue->flushing)
		hrtimer_start(&queue->timer,
			      queue->flushing ? 0 : hold->due.expires,
			      HRTIMER_MODE_ABS);
	raw_spin_unlock_irqrestore(&queue->lock, flags);
}

/**
 * biodelay_defer_flush() - submit now what a rule has put off
 * @rule: a rule that claims nothing any more
 *
 * Context: any; does not wait.
 */
void biodelay_defer_flush(struct biodelay_rule *rule)
{
	struct biodelay_queue *queue = &rule->queue;
	unsigned long flags;

	raw_spin_lock_irqsave(&queue->lock, flags);
	queue->flushing = true;
	raw_spin_unlock_irqrestore(&queue->lock, flags);
	wake_up_process(queue->worker);
}

/**
 * biodelay_defer_init() - an empty queue without a worker
 * @queue: the queue
 */
void biodelay_defer_init(struct biodelay_queue *queue)
{
	raw_spin_lock_init(&queue->lock);
	timerqueue_init_head(&queue->due);
	hrtimer_setup(&queue->timer, time_is_up, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS);
}

/**
 * biodelay_defer_start() - give a rule its worker
 * @rule: a disarmed rule
 *
 * Of real-time priority: what a busy CPU adds would be a delay nobody asked
 * for.
 *
 * Context: may sleep.
 * Return: 0 or kthread_create()'s error.
 */
int biodelay_defer_start(struct biodelay_rule *rule)
{
	struct task_struct *worker;

	worker = kthread_create(work, rule, "biodelay/%s", rule->name);
	if (IS_ERR(worker))
		return PTR_ERR(worker);
	sched_set_fifo(worker);
	rule->queue.flushing = false;
	rule->queue.worker = worker;
	wake_up_process(worker);
	return 0;
}

/**
 * biodelay_defer_stop() - undo biodelay_defer_start()
 * @rule: a rule that holds nothing
 *
 * Context: may sleep.
 */
void biodelay_defer_stop(struct biodelay_rule *rule)
{
	hrtimer_cancel(&rule->queue.timer);
	kthread_stop(rule->queue.worker);
	rule->queue.worker = NULL;
}
