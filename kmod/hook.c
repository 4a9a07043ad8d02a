// SPDX-License-Identifier: GPL-2.0-only
/* hook.c: the probe of submit_bio_noacct() */
#include <linux/kprobes.h>
#include <linux/stringify.h>
#include "biodelay.h"

static struct kprobe hook_probe;
static unsigned int hook_users; /* armed rules, under the lock of rule.c */
static enum { HOOK_STAYS, HOOK_LEAVES, HOOK_GONE } hook_fate;

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
static int join(kprobe_pre_handler_t handler,
		kprobe_post_handler_t post_handler)
{
	int err;

	hook_probe.symbol_name = __stringify(BIODELAY_PROBED);
	hook_probe.addr = NULL; /* one of the two names the place */
	hook_probe.offset = BIODELAY_OFFSET;
	hook_probe.flags = KPROBE_FLAG_DISABLED;
	hook_probe.pre_handler = handler;
	hook_probe.post_handler = post_handler;
	err = register_kprobe(&hook_probe);
	if (err)
		pr_err("cannot probe %s: error %d\n", hook_probe.symbol_name,
		       err);
	return err;
}

/**
 * biodelay_hook_init() - register a disabled probe on the block layer's entry
 * @handler: called for each bio while a rule is armed
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
int biodelay_hook_init(kprobe_pre_handler_t handler)
{
	int err = join(handler, NULL);

	if (err)
		return err;
	if (list_empty(&hook_probe.list)) {
		hook_probe.post_handler = hook_post;
		return 0;
	}
	err = list_is_singular(&hook_probe.list) ? 0 : -EBUSY;
	unregister_kprobe(&hook_probe);
	if (!err)
		return join(handler, hook_post);
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
