/* SPDX-License-Identifier: GPL-2.0-only */
/* journals.h: know the phase of each journal of jbd2 at a time */
#ifndef JOURNALS_H
#define JOURNALS_H

#include "files.h"

/* linux/magic.h; fs/ocfs2/ocfs2_fs.h */
#define EXT4_MAGIC 0xef53
#define OCFS2_MAGIC 0x7461636f

/* A field of a tracepoint's record, which is at `record`. */
static __always_inline __u32 field(void *record, __u32 at)
{
	__u32 value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), record + at);
	return value;
}

static __always_inline void enter_phase(__u32 dev, __u32 transaction, enum phase phase)
{
	struct journal *journal = bpf_map_lookup_elem(&journals, &dev);
	struct turn *turn;

	if (!journal) {
		if (bpf_map_update_elem(&journals, &dev, &no_journal, BPF_ANY)) {
			lose(&lost.journals);
			return;
		}
		journal = bpf_map_lookup_elem(&journals, &dev);
	}
	if (!journal)
		return;
	turn = &journal->last[journal->turns++ % LAST_PHASES];
	turn->t_ns = bpf_ktime_get_ns();
	turn->state.transaction = transaction;
	turn->state.phase = phase;
}

/*
 * The place in `last` of a journal's state at a time, UNKNOWN if it is not known. Not
 * inline: the verifier checks such a function once, not for each way that leads to it.
 */
__noinline int turn_at(__u32 dev, __s64 t_ns)
{
	struct journal *journal = bpf_map_lookup_elem(&journals, &dev);
	int found = UNKNOWN;
	__s64 latest_ns = 0;
	int i;

	if (!journal)
		return UNKNOWN;
	for (i = 0; i < LAST_PHASES; i++) {
		__s64 turned_ns = journal->last[i].t_ns;

		if (turned_ns <= t_ns && turned_ns > latest_ns) {
			latest_ns = turned_ns;
			found = i;
		}
	}
	return found;
}

static __always_inline void state_at(__u32 dev, __s64 t_ns, struct journal_state *state)
{
	struct journal *journal = bpf_map_lookup_elem(&journals, &dev);
	int found = turn_at(dev, t_ns);

	if (journal && found >= 0 && found < LAST_PHASES)
		*state = journal->last[found].state;
}

/*
 * A device may have been formatted anew with another file system. Pages of the block
 * device itself may belong to a file system on it.
 */
static __always_inline bool may_have_journal(struct inode *inode)
{
	unsigned long magic = BPF_CORE_READ(inode, i_sb, s_magic);

	return (BPF_CORE_READ(inode, i_mode) & FILE_TYPE) == BLOCK_DEVICE ||
		magic == EXT4_MAGIC || magic == OCFS2_MAGIC;
}

#endif
