// SPDX-License-Identifier: GPL-2.0-only
/* hook.c: a call of submit_bio_noacct() to a detour through biodelay_entry() */
#include <linux/bio.h>
#include <linux/delay.h>
#include <linux/interrupt.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/stringify.h>
#include "biodelay.h"

static struct kprobe hook_probe;
static unsigned int hook_users; /* armed rules, under the lock of rule.c */
static enum { HOOK_STAYS, HOOK_LEAVES, HOOK_GONE } hook_fate;

/*
 * A breakpoint is entered as an NMI, for it might be in one (0d00449c7a28, "x86:
 * Replace ist_enter() with nmi_enter()", 5.8). Ours is where bios are submitted,
 * which no NMI does, and who asks has to be told: current_work() answers tasks
 * alone, and lockdep reports each lock that is taken here and elsewhere, as an
 * NMI might wait for it in vain. Interrupts stay off.
 *
 * Return: what nmi_resume() has to put back.
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
 * Whether the probed call came from a task: interrupts have stacks of their own.
 * preempt_count() would not tell: before 5.8 a probe by breakpoint is entered as
 * an interrupt or as nothing, depending on the kernel (ist_enter() in
 * arch/x86/kernel/traps.c).
 */
static bool hook_in_task(struct pt_regs *regs)
{
	return object_is_on_stack((void *)kernel_stack_pointer(regs)) &&
	       !in_serving_softirq();
}

/* What forbids to delay @bio here, or BIODELAY_DELAYED when nothing does. */
static enum biodelay_count hook_verdict(const struct biodelay_spec *spec,
					const struct bio *bio,
					struct pt_regs *regs)
{
	if (bio->bi_opf & REQ_NOWAIT)
		return BIODELAY_REFUSED_NOWAIT;
	if (!hook_in_task(regs))
		return BIODELAY_REFUSED_ATOMIC;
	/* Memory this task writes back may be what it waits for itself. */
	if (spec->mode != BIODELAY_DEFER && current->flags & PF_MEMALLOC)
		return BIODELAY_REFUSED_RECLAIM;
	/* A submitter that polls spins until its bio is with the driver. */
	if (spec->mode == BIODELAY_DEFER && biodelay_is_polled(bio))
		return BIODELAY_REFUSED_POLLED;
	return BIODELAY_DELAYED;
}

/* The caller goes to biodelay_entry(), and from there to the original. */
static bool take_sleep(struct biodelay_rule *rule,
		       const struct biodelay_spec *spec, struct bio *bio,
		       struct pt_regs *regs)
{
	if (!biodelay_hold_claim(rule, spec, bio))
		return false;
	instruction_pointer_set(regs, (unsigned long)biodelay_entry);
	return true;
}

/*
 * The caller goes home. Not through a function of ours, which unload would
 * have to wait for, but through one of the kernel's that returns -1 for a
 * character that is no digit. Up to 5.15 the probed function returned a cookie
 * to poll with (3e08773c3841, "block: switch polling to be bio based", 5.16),
 * and -1 is the one that says there is nothing to poll for, BLK_QC_T_NONE.
 */
static bool take_defer(struct biodelay_rule *rule,
		       const struct biodelay_spec *spec, struct bio *bio,
		       struct pt_regs *regs)
{
	struct biodelay_hold *hold = biodelay_hold_claim(rule, spec, bio);

	if (!hold)
		return false;
	if (BIODELAY_PAUSE_MS) /* in a test's build: the rule is disarmed here */
		mdelay(BIODELAY_PAUSE_MS);
	biodelay_keep_submitter(bio);
	biodelay_defer(hold);
	BIODELAY_ARGUMENT(regs) = '\0';
	instruction_pointer_set(regs, (unsigned long)hex_to_bin);
	return true;
}

static bool take_spin(struct biodelay_rule *rule,
		      const struct biodelay_spec *spec, struct bio *bio,
		      struct pt_regs *regs)
{
	biodelay_spin(rule, spec, bio);
	return true;
}

static bool (*const take[BIODELAY_MODES])(struct biodelay_rule *rule,
					  const struct biodelay_spec *spec,
					  struct bio *bio,
					  struct pt_regs *regs) = {
	[BIODELAY_SLEEP] = take_sleep,
	[BIODELAY_DEFER] = take_defer,
	[BIODELAY_SPIN] = take_spin,
};

/*
 * Runs in whatever context submitted the bio, with preemption or interrupts off.
 * Returns 1 when the caller was sent elsewhere.
 */
static int hook_call(struct pt_regs *regs)
{
	struct bio *bio = (struct bio *)BIODELAY_ARGUMENT(regs);
	const struct biodelay_spec *spec;
	struct biodelay_rule *rule;
	enum biodelay_count verdict;

	if (biodelay_holds_any() && hook_in_task(regs) &&
	    biodelay_hold_passes())
		return 0;
	rule = biodelay_rule_match(bio, &spec);
	if (!rule)
		return 0;
	verdict = hook_verdict(spec, bio, regs);
	if (verdict == BIODELAY_DELAYED &&
	    !biodelay_draw_whether(rule, spec, bio->bi_iter.bi_size))
		verdict = BIODELAY_SKIPPED;
	if (verdict == BIODELAY_DELAYED && !take[spec->mode](rule, spec, bio,
							     regs))
		verdict = BIODELAY_REFUSED_FULL;
	if (verdict != BIODELAY_DELAYED) {
		biodelay_count(rule, verdict, 1);
		return 0;
	}
	return spec->mode != BIODELAY_SPIN;
}
NOKPROBE_SYMBOL(hook_call);

static int hook_pre(struct kprobe *probe, struct pt_regs *regs)
{
	unsigned int count = nmi_suspend();
	int redirected = hook_call(regs);

	nmi_resume(count);
	return redirected;
}
NOKPROBE_SYMBOL(hook_pre);

/*
 * Empty, and needed: a kprobe that may change the instruction pointer must not
 * be optimised into a jump, and must claim FTRACE_OPS_FL_IPMODIFY, which makes
 * others on that function (livepatch, BPF trampolines) honour the change;
 * having a post_handler says both (arm_kprobe_ftrace() in kernel/kprobes.c).
 */
static void hook_post(struct kprobe *probe, struct pt_regs *regs,
		      unsigned long flags)
{
}
NOKPROBE_SYMBOL(hook_post);

/* Join the probes of the block layer's entry, switched off. */
static int join(kprobe_post_handler_t post_handler)
{
	int err;

	hook_probe.symbol_name = __stringify(BIODELAY_PROBED);
	hook_probe.addr = NULL; /* one of the two names the place */
	hook_probe.offset = BIODELAY_OFFSET;
	hook_probe.flags = KPROBE_FLAG_DISABLED;
	hook_probe.pre_handler = hook_pre;
	hook_probe.post_handler = post_handler;
	err = register_kprobe(&hook_probe);
	if (err)
		pr_err("cannot probe %s: error %d\n", hook_probe.symbol_name,
		       err);
	return err;
}

/**
 * biodelay_hook_init() - put a switched-off probe on the block layer's entry
 *
 * A post_handler must not join a probe that is there without one: that one
 * keeps its ftrace_ops when it gains a post_handler by us, and is taken off the
 * other ones when it goes (__disarm_kprobe_ftrace() in kernel/kprobes.c warns,
 * and the freed probe stays). So join without, look whether we are alone, and
 * only then have one. Who joins later finds it there.
 *
 * Without ftrace (CONFIG_KPROBES_ON_FTRACE) a probe that is alone may be on a
 * list, too: as the one child of what may be optimised into a jump
 * (try_to_optimize_kprobe()), which asks for a post_handler when it is made.
 *
 * Context: may sleep.
 * Return: 0; -EBUSY when another probe is there, or register_kprobe()'s error.
 */
int biodelay_hook_init(void)
{
	int err = join(NULL);

	if (err)
		return err;
	if (list_empty(&hook_probe.list)) {
		hook_probe.post_handler = hook_post;
		return 0;
	}
	err = list_is_singular(&hook_probe.list) ? 0 : -EBUSY;
	unregister_kprobe(&hook_probe);
	if (!err)
		return join(hook_post);
	pr_err("another probe is on %s: load biodelay before the tracer\n",
	       hook_probe.symbol_name);
	return err;
}

/**
 * biodelay_hook_leave() - make the last rule's biodelay_hook_put() the end
 *
 * Taking a probe off waits for handlers by itself (unregister_kprobes() in
 * kernel/kprobes.c), so that switching it off, and waiting for that, would only
 * make an unload longer by a grace period.
 *
 * Context: the module's exit.
 */
void biodelay_hook_leave(void)
{
	hook_fate = HOOK_LEAVES;
}

/** biodelay_hook_exit() - undo biodelay_hook_init(); no rule may be armed */
void biodelay_hook_exit(void)
{
	if (hook_fate != HOOK_GONE)
		unregister_kprobe(&hook_probe);
}

/**
 * biodelay_hook_get() - hook the block layer's entry for one more rule
 *
 * Context: may sleep; one caller at a time.
 * Return: 0; -EBUSY beside another that may redirect, where the kernel cannot
 * have both (53cd885bc5c3, "ftrace: Allow IPMODIFY and DIRECT ops on the same
 * function", 6.0); or enable_kprobe()'s error.
 */
int biodelay_hook_get(void)
{
	int err = hook_users ? 0 : enable_kprobe(&hook_probe);

	if (err == -EBUSY)
		pr_err("a BPF trampoline (fentry, fexit) or a livepatch is on %s: before Linux 6.0 only one of them and us can be\n",
		       hook_probe.symbol_name);
	else if (err)
		pr_err("cannot switch the probe of %s on: error %d\n",
		       hook_probe.symbol_name, err);
	else
		hook_users++;
	return err;
}

/**
 * biodelay_hook_put() - let go of the hook
 *
 * Returns when no handler can see the rule any more; the last rule's call when
 * no task can be in the module's text any more on the hook's account. Nothing
 * may be held when it is called.
 *
 * Context: may sleep; one caller at a time.
 */
void biodelay_hook_put(void)
{
	if (!--hook_users) {
		biodelay_holds_settle();
		if (hook_fate == HOOK_LEAVES) {
			unregister_kprobe(&hook_probe);
			hook_fate = HOOK_GONE;
			return;
		}
		disable_kprobe(&hook_probe);
	}
	biodelay_wait_for_handlers();
}

/**
 * biodelay_hook_missed() - how often the kernel skipped the probe
 *
 * Return: calls of the probed function that came from within another probe's
 * handler since load (kprobe's nmissed): such bios pass undelayed.
 */
unsigned long biodelay_hook_missed(void)
{
	return hook_probe.nmissed;
}
