// SPDX-License-Identifier: GPL-2.0-only
/* configfs.c: make a rule for each directory of /sys/kernel/config/biodelay */
#include <linux/configfs.h>
#include <linux/module.h>
#include <linux/slab.h>
#include "biodelay.h"

struct folder {
	struct config_item item;
	struct biodelay_rule *rule;
};

static struct biodelay_rule *rule_of(struct config_item *item)
{
	return container_of(item, struct folder, item)->rule;
}

static ssize_t store(struct config_item *item, const char *attr,
		     const char *page, size_t count)
{
	int err;

	/* configfs terminates the page with a NUL; an earlier one was written. */
	if (strnlen(page, count) != count) {
		pr_err("%s: holds a NUL byte\n", attr);
		return -EILSEQ;
	}
	err = biodelay_rule_set(rule_of(item), attr, page);
	return err ?: count;
}

#define DEFINE_ATTR(name, how, description) \
static ssize_t folder_##name##_show(struct config_item *item, char *page) \
{ \
	return biodelay_rule_show(rule_of(item), #name, page); \
} \
static ssize_t folder_##name##_store(struct config_item *item, \
				     const char *page, size_t count) \
{ \
	return store(item, #name, page, count); \
} \
CONFIGFS_ATTR(folder_, name);

BIODELAY_ATTRS(DEFINE_ATTR)

#define LIST_ATTR(name, how, description) &folder_attr_##name,

static struct configfs_attribute *folder_attrs[] = {
	BIODELAY_ATTRS(LIST_ATTR)
	NULL
};

static void folder_release(struct config_item *item)
{
	struct folder *folder = container_of(item, struct folder, item);

	biodelay_rule_remove(folder->rule);
	kfree(folder);
}

static struct configfs_item_operations folder_ops = {
	.release = folder_release,
};

static struct config_item_type folder_type = {
	.ct_item_ops = &folder_ops,
	.ct_attrs = folder_attrs,
	.ct_owner = THIS_MODULE,
};

static struct config_item *make_folder(struct config_group *group,
				       const char *name)
{
	struct folder *folder;

	if (!strcmp(name, BIODELAY_PARAM_RULE)) {
		pr_err("rule '%s': the module's parameters are the rule of that name\n",
		       name);
		return ERR_PTR(-EEXIST);
	}
	if (strlen(name) >= BIODELAY_NAME_LEN) {
		pr_err("rule '%s': a name has at most %d characters\n", name,
		       BIODELAY_NAME_LEN - 1);
		return ERR_PTR(-ENAMETOOLONG);
	}
	folder = kzalloc(sizeof(*folder), GFP_KERNEL);
	if (!folder)
		return ERR_PTR(-ENOMEM);
	folder->rule = biodelay_rule_new(name);
	if (!folder->rule) {
		kfree(folder);
		return ERR_PTR(-ENOMEM);
	}
	config_item_init_type_name(&folder->item, name, &folder_type);
	return &folder->item;
}

static struct configfs_group_operations root_ops = {
	.make_item = make_folder,
};

static struct config_item_type root_type = {
	.ct_group_ops = &root_ops,
	.ct_owner = THIS_MODULE,
};

static struct configfs_subsystem root = {
	.su_group = {
		.cg_item = {
			.ci_namebuf = "biodelay",
			.ci_type = &root_type,
		},
	},
};

/**
 * biodelay_configfs_init() - register the directory biodelay in configfs
 *
 * Return: 0 or configfs_register_subsystem()'s error.
 */
int biodelay_configfs_init(void)
{
	config_group_init(&root.su_group);
	mutex_init(&root.su_mutex);
	return configfs_register_subsystem(&root);
}

/**
 * biodelay_configfs_exit() - undo biodelay_configfs_init()
 *
 * No directories are left: each one prevents the module from being unloaded.
 */
void biodelay_configfs_exit(void)
{
	configfs_unregister_subsystem(&root);
}
