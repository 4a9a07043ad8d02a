// SPDX-License-Identifier: GPL-2.0-only
/* main.c: load and unload; the module parameters form one rule, "param" */
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include "biodelay.h"

static bool allow_bare_metal;
module_param(allow_bare_metal, bool, 0444);
MODULE_PARM_DESC(allow_bare_metal, "run outside a virtual machine: 0 or 1, default 0");

static unsigned int records_per_cpu = 16384;
module_param(records_per_cpu, uint, 0444);
MODULE_PARM_DESC(records_per_cpu, "finished records kept for each CPU until they are read: 64 to 1048576, default 16384");

static unsigned int max_holds = 8192;
module_param(max_holds, uint, 0444);
MODULE_PARM_DESC(max_holds, "bios held at once, over all rules: 16 to 262144, default 8192");

static struct biodelay_rule *param_rule; /* NULL before init, an ERR_PTR after */

/* A rule's attribute as a parameter; @early holds it until init. */
struct given {
	const char *attr;
	char *early;
};

/* Parameters are written one at a time: the parameter lock is held. */
static int param_set(const char *value, const struct kernel_param *kp)
{
	struct given *given = kp->arg;

	if (!value)
		value = "";
	if (IS_ERR(param_rule))
		return PTR_ERR(param_rule);
	if (param_rule)
		return biodelay_rule_set(param_rule, given->attr, value);
	kfree(given->early);
	given->early = kstrdup(value, GFP_KERNEL);
	return given->early ? 0 : -ENOMEM;
}

static int param_get(char *page, const struct kernel_param *kp)
{
	const struct given *given = kp->arg;

	if (IS_ERR_OR_NULL(param_rule))
		return 0;
	return biodelay_rule_show(param_rule, given->attr, page);
}

/* Free a value that was not applied because loading failed in or before init. */
static void param_free(void *arg)
{
	struct given *given = arg;

	kfree(given->early);
	given->early = NULL;
}

static const struct kernel_param_ops attr_ops = {
	.set = param_set,
	.get = param_get,
	.free = param_free,
};

#define DEFINE_GIVEN(name, how, description) \
	static struct given given_##name = { #name }; \
	module_param_cb(name, &attr_ops, &given_##name, 0644); \
	MODULE_PARM_DESC(name, description);

BIODELAY_ATTRS(DEFINE_GIVEN)

#define LIST_GIVEN(name, how, description) &given_##name,

/* In the order of attrs.h, in which enabled is last. */
static struct given *const all_given[] = { BIODELAY_ATTRS(LIST_GIVEN) };

/*
 * The parameters are in sysfs before the module is initialised: values written
 * meanwhile wait here for the lock, and are then written to the rule.
 */
static int apply_params(struct biodelay_rule *rule)
{
	size_t i;
	int err = 0;

	kernel_param_lock(THIS_MODULE);
	for (i = 0; i < ARRAY_SIZE(all_given); i++) {
		struct given *given = all_given[i];

		if (given->early && !err)
			err = biodelay_rule_set(rule, given->attr,
						given->early);
		param_free(given);
	}
	if (BIODELAY_PAUSE_MS) /* for tests: kmod/Kbuild */
		msleep(BIODELAY_PAUSE_MS);
	if (!err)
		param_rule = rule;
	kernel_param_unlock(THIS_MODULE);
	return err;
}

/* Refuse further writes of parameters; the rule may then be removed. */
static void withdraw_params(int err)
{
	kernel_param_lock(THIS_MODULE);
	param_rule = ERR_PTR(err);
	kernel_param_unlock(THIS_MODULE);
}

static int check(const char *name, unsigned int value, unsigned int low,
		 unsigned int high)
{
	if (value >= low && value <= high)
		return 0;
	pr_err("%s=%u: must be %u to %u\n", name, value, low, high);
	return -ERANGE;
}

static int check_module(void)
{
	return check("records_per_cpu", records_per_cpu, 64, 1048576) ?:
	       check("max_holds", max_holds, 16, 262144) ?:
	       biodelay_guard_machine(allow_bare_metal);
}

/*
 * A file or directory of the module that user space can reach must not be followed by
 * a step that may fail: try_module_get() succeeds while a module is being loaded, and
 * a failed load frees its text without asking for the count (do_init_module() in
 * kernel/module/main.c). So configfs is the last such step, and files in debugfs, whose
 * errors are ignored, follow. The parameters in sysfs need no count: a module's are
 * removed before it is freed, and the removal waits for writers (mod_sysfs_teardown()).
 */
static int __init biodelay_init(void)
{
	struct biodelay_rule *rule;
	int err = check_module();

	if (err)
		return err;
	err = biodelay_holds_init(max_holds);
	if (err)
		return err;
	err = biodelay_records_init(records_per_cpu);
	if (err)
		goto exit_holds;
	err = biodelay_hook_init(biodelay_catch);
	if (err)
		goto exit_records;
	err = -ENOMEM;
	rule = biodelay_rule_new(BIODELAY_PARAM_RULE);
	if (!rule)
		goto exit_hook;
	err = apply_params(rule) ?: biodelay_status_init();
	if (err)
		goto remove_rule;
	err = biodelay_configfs_init();
	if (err)
		goto exit_status;
	biodelay_status_publish();
	return 0;

exit_status:
	biodelay_status_exit();
remove_rule:
	withdraw_params(err);
	biodelay_rule_remove(rule);
exit_hook:
	biodelay_hook_exit();
exit_records:
	biodelay_records_exit();
exit_holds:
	biodelay_holds_exit();
	return err;
}

static void __exit biodelay_exit(void)
{
	struct biodelay_rule *rule = param_rule;

	withdraw_params(-ENODEV);
	biodelay_configfs_exit();
	biodelay_status_exit();
	biodelay_hook_leave();
	biodelay_rule_remove(rule);
	biodelay_hook_exit();
	biodelay_records_exit();
	biodelay_holds_exit();
}

module_init(biodelay_init);
module_exit(biodelay_exit);
MODULE_DESCRIPTION("Delays chosen bios of a mounted disk");
MODULE_VERSION(BIODELAY_VERSION);
MODULE_LICENSE("GPL v2");
