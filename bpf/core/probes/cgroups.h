/* SPDX-License-Identifier: GPL-2.0-only */
/* cgroups.h: read the cgroups of a task, and those of a bio */
#ifndef CGROUPS_H
#define CGROUPS_H

#include "state.h"

#include <bpf/bpf_core_read.h>

/*
 * A cgroup is known by its id, which is the number of its folder's inode. That of the
 * controller of block I/O counts for version 1 where the number of its hierarchy is not 0
 * (kernel/cgroup/cgroup.c, cgroup_init_root_id()).
 */
static __always_inline void groups_of(struct task_struct *task, struct groups *groups)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	__u32 which = bpf_core_enum_value(enum cgroup_subsys_id, io_cgrp_id);
	struct cgroup_subsys_state *state = 0;
	struct cgroup *io;

	bpf_probe_read_kernel(&state, sizeof(state), &set->subsys[0] + which);
	io = BPF_CORE_READ(state, cgroup);
	groups->cgroup = BPF_CORE_READ(set, dfl_cgrp, kn, id);
	groups->io_cgroup = BPF_CORE_READ(io, kn, id);
	groups->io_hierarchy = BPF_CORE_READ(io, root, hierarchy_id);
}

/*
 * Whose I/O it is (block/blk-cgroup.c, bio_associate_blkg(); fs/fs-writeback.c,
 * wbc_init_bio()), while the bio is not done. Of version 2 it is the same cgroup.
 */
static __always_inline void groups_of_bio(struct bio *bio, struct groups *groups)
{
	struct cgroup *io = BPF_CORE_READ(bio, bi_blkg, blkcg, css.cgroup);

	groups->io_cgroup = BPF_CORE_READ(io, kn, id);
	groups->io_hierarchy = BPF_CORE_READ(io, root, hierarchy_id);
	groups->cgroup = groups->io_hierarchy ? 0 : groups->io_cgroup;
}

#endif
