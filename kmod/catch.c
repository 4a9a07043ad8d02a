// SPDX-License-Identifier: GPL-2.0-only
/* catch.c: decide on each bio that is about to be submitted, and delay it */
#include <linux/bio.h>
#include <linux/interrupt.h>
#include <linux/kprobes.h>
#include "biodelay.h"

/*
 * A breakpoint is entered as an NMI, because it may be hit in one (0d00449c7a28,
 * "x86: Replace ist_enter() with nmi_enter()", 5.8). No NMI submits bios, so undo
 * the NMI count here: current_work() works in task context only, and lockdep would
 * report each lock that is taken both here and elsewhere as a possible deadlock.
 * Interrupts stay off.
 *
 * Return: the count that nmi_resume() must restore.
 */
static unsigned int nmi_suspend(void)
{
	unsigned int count = in_nmi() ? NMI_OFFSET + HARDIRQ_OFFSET : 0;

	__preempt_count_sub(count);
	return count;
}
NOKPROBE_SYMBOL(nmi_suspend);

static void nmi_resume(unsigned int count)
{
	__preempt_count_add(count);
}
NOKPROBE_SYMBOL(nmi_resume);

/*
 * Whether a task made the probed call: interrupts have their own stacks.
 * preempt_count() does not show it: before 5.8 a breakpoint probe is entered as an
 * interrupt or with no change, depending on the kernel (ist_enter() in
 * arch/x86/kernel/traps.c).
 */
static bool in_task_context(struct pt_regs *regs)
{
	return object_is_on_stack((void *)kernel_stack_pointer(regs)) &&
	       !in_serving_softirq();
}

/* The reason why @bio must not be delayed here, or BIODELAY_DELAYED if none. */
static enum biodelay_count verdict_on(const struct biodelay_spec *spec,
					const struct bio *bio,
					struct pt_regs *regs)
{
	/*
	 * A worker must not wait for another rule: its own rule's bios, and a disarm,
	 * would wait for each of these delays. Nor must a task that holds the lock of the
	 * rules, for then no rule could be disarmed, or one that is in its own delay.
	 */
	if (in_task_context(regs) &&
	    ((biodelay_holds_any() && biodelay_hold_current()) ||
	     biodelay_rules_are_mine()))
		return BIODELAY_REFUSED_NESTED;
	if (!biodelay_device_is_same(&spec->device, bio))
		return BIODELAY_REFUSED_REPLACED;
	if (bio->bi_opf & REQ_NOWAIT)
		return BIODELAY_REFUSED_NOWAIT;
	if (!in_task_context(regs))
		return BIODELAY_REFUSED_ATOMIC;
	/* A reclaiming task may be waiting for the memory it writes back. */
	if (spec->mode != BIODELAY_DEFER && current->flags & PF_MEMALLOC)
		return BIODELAY_REFUSED_RECLAIM;
	/* A polling submitter spins until the driver has its bio. */
	if (spec->mode == BIODELAY_DEFER && biodelay_is_polled(bio))
		return BIODELAY_REFUSED_POLLED;
	return BIODELAY_DELAYED;
}

/*
 * Runs in the context that submitted the bio, with preemption or interrupts off.
 * Returns 1 if the caller was redirected.
 */
static int catch_bio(struct pt_regs *regs)
{
	struct bio *bio = (struct bio *)BIODELAY_ARGUMENT(regs);
	const struct biodelay_spec *spec;
	struct biodelay_rule *rule;
	enum biodelay_count verdict;
	int redirected;

	if (biodelay_holds_any() && in_task_context(regs) &&
	    biodelay_hold_passes())
		return 0;
	rule = biodelay_rule_match(bio, &spec);
	if (!rule)
		return 0;
	verdict = verdict_on(spec, bio, regs);
	if (verdict == BIODELAY_DELAYED &&
	    !biodelay_draw_whether(rule, spec, bio->bi_iter.bi_size))
		verdict = BIODELAY_SKIPPED;
	if (verdict == BIODELAY_DELAYED) {
		redirected = biodelay_modes[spec->mode]->delay(rule, spec, bio,
							       regs);
		if (redirected >= 0)
			return redirected;
		verdict = BIODELAY_REFUSED_FULL;
	}
	biodelay_count(rule, verdict, 1);
	return 0;
}
NOKPROBE_SYMBOL(catch_bio);

/**
 * biodelay_catch() - the probe's handler: delay a bio if a rule matches it
 * @probe: the probe of submit_bio_noacct()
 * @regs: registers at the call
 *
 * Return: 1 when the caller was redirected, or 0.
 */
int biodelay_catch(struct kprobe *probe, struct pt_regs *regs)
{
	unsigned int count = nmi_suspend();
	int redirected = catch_bio(regs);

	nmi_resume(count);
	return redirected;
}
NOKPROBE_SYMBOL(biodelay_catch);
