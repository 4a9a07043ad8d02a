// SPDX-License-Identifier: GPL-2.0-only
/* status.c: print rules and counters as lines of "key value" in debugfs */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include "biodelay.h"

static struct dentry *folder;

struct totals {
	unsigned int rules;
	unsigned int armed;
	int in_flight;
	u64 counts[BIODELAY_COUNTS];
};

static void add_to_totals(struct biodelay_rule *rule,
			  const struct biodelay_spec *spec, void *data)
{
	struct totals *totals = data;
	int i;

	totals->rules++;
	totals->armed += rule->armed;
	totals->in_flight += atomic_read(&rule->in_flight);
	for (i = 0; i < BIODELAY_COUNTS; i++)
		totals->counts[i] += biodelay_rule_count(rule, i);
}

static void show_rule(struct biodelay_rule *rule,
		      const struct biodelay_spec *spec, void *data)
{
	const char *name = rule->name;
	struct seq_file *seq = data;
	int i;

	seq_printf(seq, "%s.armed %d\n%s.device %u:%u\n%s.mode %s\n", name,
		   rule->armed, name, MAJOR(spec->device.dev),
		   MINOR(spec->device.dev), name,
		   biodelay_mode_names[spec->mode]);
	for (i = 0; i < BIODELAY_COUNTS; i++)
		seq_printf(seq, "%s.%s %llu\n", name, biodelay_count_names[i],
			   biodelay_rule_count(rule, i));
	seq_printf(seq, "%s.in_flight %d\n", name,
		   atomic_read(&rule->in_flight));
}

static int status_show(struct seq_file *seq, void *unused)
{
	struct totals totals = { };
	u64 written, lost;
	int i;

	biodelay_rules_for_each(add_to_totals, &totals);
	biodelay_records_count(&written, &lost);
	seq_printf(seq, "version %s\nrules %u\narmed %u\n", BIODELAY_VERSION,
		   totals.rules, totals.armed);
	for (i = 0; i < BIODELAY_COUNTS; i++)
		seq_printf(seq, "%s %llu\n", biodelay_count_names[i],
			   totals.counts[i]);
	seq_printf(seq, "in_flight %d\nmissed %lu\nrecords %llu\nrecords_lost %llu\n",
		   totals.in_flight, biodelay_hook_missed(), written, lost);
	biodelay_rules_for_each(show_rule, seq);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(status);

/**
 * biodelay_status_init() - create the directory biodelay in debugfs, empty
 *
 * Return: 0, or an error without debugfs: the module does not load if its delays
 * cannot be checked.
 */
int biodelay_status_init(void)
{
	int err;

	folder = debugfs_create_dir("biodelay", NULL);
	err = folder ? PTR_ERR_OR_ZERO(folder) : -ENOMEM; /* NULL before 5.0 */
	if (err)
		pr_err("no debugfs: error %d\n", err);
	return err;
}

/**
 * biodelay_status_publish() - create the files status and record in the directory
 *
 * Context: the load of the module can no longer fail: an open file uses its text.
 */
void biodelay_status_publish(void)
{
	debugfs_create_file("status", 0444, folder, NULL, &status_fops);
	debugfs_create_file("record", 0400, folder, NULL,
			    &biodelay_record_fops);
}

/** biodelay_status_exit() - undo biodelay_status_init() */
void biodelay_status_exit(void)
{
	debugfs_remove_recursive(folder);
}
