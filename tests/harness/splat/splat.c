// SPDX-License-Identifier: GPL-2.0-only
/*
 * splat.c: a word to the kernel accident it names, to test who notices
 *
 * insmod splat.ko kind=warn|oops|hang|int3|stale. Every accident is real: the
 * machine's verdict must come from what the kernel prints, not from a marker
 * of ours. stale stands for a CPU that executes an int3 which memory does not
 * hold any more: the byte is overwritten before the kernel looks at it.
 */
#include <linux/delay.h>
#include <linux/kdebug.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/sched.h>
#include <linux/vmalloc.h>

#define NOP 0x90

static char *kind = "none";
module_param(kind, charp, 0444);
MODULE_PARM_DESC(kind, "warn, oops, hang (in state D for 8 s), int3, or stale");

static u8 *writable; /* the page of breakpoint(), mapped once more */

/*
 * The 42 bytes before an instruction are printed with it if they can be read
 * (arch/x86/kernel/dumpstack.c, PROLOGUE_SIZE): nothing lies before this page.
 */
static noinline void breakpoint(void)
{
	asm volatile("jmp 1f; .fill 64, 1, 0x90; 1: int3");
}

static int overwrite(struct notifier_block *block, unsigned long value,
		     void *data)
{
	struct die_args *args = data;

	if (value == DIE_INT3)
		writable[offset_in_page(args->regs->ip - 1)] = NOP;
	return NOTIFY_DONE;
}

static struct notifier_block dying = { .notifier_call = overwrite };

static int go_stale(void)
{
	struct page *page = vmalloc_to_page(breakpoint);

	writable = vmap(&page, 1, VM_MAP, PAGE_KERNEL);
	if (!writable)
		return -ENOMEM;
	register_die_notifier(&dying);
	breakpoint();
	return -ECANCELED;
}

static int __init splat_init(void)
{
	if (!strcmp(kind, "warn"))
		WARN(1, "splat: asked to\n");
	else if (!strcmp(kind, "oops"))
		*(volatile int *)8 = 0;
	else if (!strcmp(kind, "hang"))
		msleep(8000);
	else if (!strcmp(kind, "int3"))
		breakpoint();
	else if (!strcmp(kind, "stale"))
		return go_stale();
	else
		return -EINVAL;
	return -ECANCELED; /* never stays loaded */
}
module_init(splat_init);

MODULE_DESCRIPTION("goes wrong on purpose");
MODULE_LICENSE("GPL");
