// SPDX-License-Identifier: GPL-2.0-only
/* empty_probe.c: loaded, a kprobe of biodelay's kind that does nothing */
#include <linux/kprobes.h>
#include <linux/module.h>

static char *symbol = "submit_bio_noacct";
module_param(symbol, charp, 0444);
MODULE_PARM_DESC(symbol, "function to probe, default submit_bio_noacct");

static int empty_pre(struct kprobe *probe, struct pt_regs *regs)
{
	return 0;
}
NOKPROBE_SYMBOL(empty_pre);

/* There because biodelay has one (kmod/hook.c): it decides how one is called. */
static void empty_post(struct kprobe *probe, struct pt_regs *regs,
		       unsigned long flags)
{
}
NOKPROBE_SYMBOL(empty_post);

static struct kprobe empty_probe = {
	.pre_handler = empty_pre,
	.post_handler = empty_post,
};

static int __init empty_init(void)
{
	empty_probe.symbol_name = symbol;
	return register_kprobe(&empty_probe);
}

static void __exit empty_exit(void)
{
	unregister_kprobe(&empty_probe);
}

module_init(empty_init);
module_exit(empty_exit);
MODULE_DESCRIPTION("What a kprobe costs without a handler's work");
MODULE_LICENSE("GPL v2");
