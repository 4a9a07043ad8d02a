// SPDX-License-Identifier: GPL-2.0-only
/*
 * splat.c: a word to the kernel accident it names, to test who notices
 *
 * insmod splat.ko kind=warn|oops|hang. Every accident is real: the machine's
 * verdict must come from what the kernel prints, not from a marker of ours.
 */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/sched.h>

static char *kind = "none";
module_param(kind, charp, 0444);
MODULE_PARM_DESC(kind, "warn, oops, or hang (the loader sleeps 8 s in state D)");

static int __init splat_init(void)
{
	if (!strcmp(kind, "warn"))
		WARN(1, "splat: asked to\n");
	else if (!strcmp(kind, "oops"))
		*(volatile int *)8 = 0;
	else if (!strcmp(kind, "hang"))
		msleep(8000);
	else
		return -EINVAL;
	return -ECANCELED; /* never stays loaded */
}
module_init(splat_init);

MODULE_DESCRIPTION("goes wrong on purpose");
MODULE_LICENSE("GPL");
