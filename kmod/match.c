// SPDX-License-Identifier: GPL-2.0-only
/* match.c: whether a spec matches a bio and its submitter */
#include <linux/kallsyms.h>
#include <linux/sched.h>
#include <linux/workqueue.h>
#include "biodelay.h"

/*
 * Whether a work function is the one that writes back dirty pages. It is not
 * exported, so look up the symbols of work functions until it is found.
 */
static bool is_writeback(work_func_t func)
{
	static unsigned long known; /* its address, once found */
	char name[KSYM_SYMBOL_LEN];

	if ((unsigned long)func == READ_ONCE(known))
		return true;
	if (READ_ONCE(known))
		return false;
	sprint_symbol_no_offset(name, (unsigned long)func);
	if (strcmp(name, "wb_workfn"))
		return false;
	WRITE_ONCE(known, (unsigned long)func);
	return true;
}

static bool writes_back(void)
{
	return (current->flags & PF_WQ_WORKER) &&
	       biodelay_works_at(is_writeback);
}

static bool kind_matches(u32 kind)
{
	bool user = !(current->flags & PF_KTHREAD);

	switch (kind) {
	case BIODELAY_USER:
		return user;
	case BIODELAY_KTHREAD:
		return !user;
	case BIODELAY_WRITEBACK:
		return writes_back();
	default:
		return true;
	}
}

static bool submitter_matches(const struct biodelay_spec *spec)
{
	return (!spec->pid || spec->pid == current->tgid) &&
	       (!*spec->submitter ||
		glob_match(spec->submitter, current->comm)) &&
	       kind_matches(spec->kind) &&
	       (!spec->cgroup || spec->cgroup == biodelay_cgroup());
}

static bool sectors_match(const struct biodelay_spec *spec,
			  const struct bio *bio)
{
	u64 first, last;

	if (!spec->sectors.first && spec->sectors.last == U64_MAX)
		return true;
	first = biodelay_device_sector(&spec->device, bio);
	last = first + max(bio_sectors(bio), 1U) - 1;
	return first <= spec->sectors.last && last >= spec->sectors.first;
}

static bool bytes_match(const struct biodelay_spec *spec,
			const struct bio *bio)
{
	return bio->bi_iter.bi_size >= spec->bytes.first &&
	       bio->bi_iter.bi_size <= spec->bytes.last;
}

static bool flags_match(const struct biodelay_spec *spec,
			const struct bio *bio)
{
	u32 flags;

	if (!(spec->flags_any | spec->flags_none))
		return true;
	flags = biodelay_flags_of(bio);
	return (!spec->flags_any || (flags & spec->flags_any)) &&
	       !(flags & spec->flags_none);
}

/**
 * biodelay_match() - whether a spec matches a bio on its device
 * @spec: the spec
 * @bio: the bio, about to be submitted by the current task
 *
 * Context: any. The cheap tests come first.
 */
bool biodelay_match(const struct biodelay_spec *spec, const struct bio *bio)
{
	return (spec->ops & BIT(biodelay_op_of(bio))) &&
	       flags_match(spec, bio) && bytes_match(spec, bio) &&
	       sectors_match(spec, bio) && submitter_matches(spec);
}
