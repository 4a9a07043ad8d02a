// SPDX-License-Identifier: GPL-2.0-only
/* hook.c: the probe of submit_bio_noacct() */
#include <linux/kprobes.h>
#include <linux/stringify.h>
#include "biodelay.h"

static struct kprobe hook_probe;
/* Rules that are armed or disarming; protected by rules_lock. */
static unsigned int hook_users;
static enum { HOOK_STAYS, HOOK_LEAVES, HOOK_GONE } hook_fate;

/*
 * Empty but required: a kprobe that may change the instruction pointer must not be
 * optimised into a jump, and must set FTRACE_OPS_FL_IPMODIFY so that livepatch and
 * BPF trampolines on the same function honour the change. A post_handler implies
 * both (arm_kprobe_ftrace() in kernel/kprobes.c).
 */
static void hook_post(struct kprobe *probe, struct pt_regs *regs,
		      unsigned long flags)
{
}
NOKPROBE_SYMBOL(hook_post);

/* Register the probe, disabled. */
static int join(kprobe_pre_handler_t handler,
		kprobe_post_handler_t post_handler)
{
	int err;

	hook_probe.symbol_name = __stringify(BIODELAY_PROBED);
	hook_probe.addr = NULL; /* symbol_name gives the address */
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
 * biodelay_hook_init() - register a disabled probe on submit_bio_noacct()
 * @handler: called for each bio while a rule is armed
 *
 * A probe with a post_handler must not be added beside one without: the aggregate
 * keeps its ftrace_ops when it gains the post_handler, but is removed from the
 * other ftrace_ops when it goes (__disarm_kprobe_ftrace() in kernel/kprobes.c warns,
 * and the freed probe stays registered). So register without a post_handler, check
 * that no other probe is there, and then register with one. Probes that are added
 * later join an aggregate that has it already.
 *
 * Without ftrace (CONFIG_KPROBES_ON_FTRACE) a sole probe may be on a list, too: as
 * the only child of a probe that may be optimised into a jump
 * (try_to_optimize_kprobe()), which checks for a post_handler when it is created.
 *
 * Context: may sleep.
 * Return: 0; -EBUSY if another probe is there, or register_kprobe()'s error.
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
 * biodelay_hook_leave() - let the last rule's biodelay_hook_put() unregister
 *
 * unregister_kprobes() waits for handlers itself (kernel/kprobes.c); disabling the
 * probe first, and waiting for that, would only make unload longer by a grace
 * period.
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
 * biodelay_hook_get() - enable the probe for one more rule
 *
 * Context: may sleep; under rules_lock.
 * Return: 0; -EBUSY if another redirecting user is on the function and the kernel
 * does not allow both (53cd885bc5c3, "ftrace: Allow IPMODIFY and DIRECT ops on the
 * same function", 6.0); or enable_kprobe()'s error.
 */
int biodelay_hook_get(void)
{
	int err;

	biodelay_rules_assert_held();
	err = hook_users ? 0 : enable_kprobe(&hook_probe);
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
 * biodelay_hook_put() - undo biodelay_hook_get()
 *
 * Returns when no handler can see the rule any more. For the last rule, returns when
 * no redirected task can be in the module's text any more. No bio may be held when
 * it is called.
 *
 * Context: may sleep; under rules_lock.
 */
void biodelay_hook_put(void)
{
	biodelay_rules_assert_held();
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
 * Return: calls of the probed function from within another probe's handler since
 * load (the kprobe's nmissed); these bios are not delayed.
 */
unsigned long biodelay_hook_missed(void)
{
	return hook_probe.nmissed;
}
