/* SPDX-License-Identifier: GPL-2.0-only */
/* paths.h: find the file of a call that has no descriptor */
#ifndef PATHS_H
#define PATHS_H

#include "state.h"

#include <bpf/bpf_core_read.h>

/* What to look for on a kernel stack. */
enum wanted {
	WANT_NOTHING,
	WANT_PATH,
	WANT_FILE,
	WANT_RELEASED,
	WANT_SHARED,
	WANT_FAULT,
};

#define FAMILY_UNIX 1	/* AF_UNIX, linux/socket.h */

/* The words behind the function's registers that a call's first functions may use. */
#define FIRST_WORD 4

static __always_inline bool is_kernel(__u64 word)
{
	return (__s64)word < 0 && (word & 7) == 0;
}

static __always_inline __u64 word_at(__u64 at)
{
	__u64 word = 0;

	bpf_probe_read_kernel(&word, sizeof(word), (void *)at);
	return word;
}

/* Are these the two words of a struct path? Then both lead to one super block. */
static __always_inline bool is_path(__u64 mnt, __u64 dentry)
{
	struct vfsmount *mount = (void *)mnt;
	__u64 sb;

	if (!is_kernel(mnt) || !is_kernel(dentry))
		return false;
	sb = (__u64)BPF_CORE_READ(mount, mnt_sb);
	return is_kernel(sb) &&
		(__u64)BPF_CORE_READ((struct dentry *)dentry, d_sb) == sb &&
		(__u64)BPF_CORE_READ(mount, mnt_root, d_sb) == sb;
}

/* Does a word lead to an open file? */
static __always_inline bool is_file(__u64 word)
{
	struct file *file = (void *)word;
	__u64 dentry = (__u64)BPF_CORE_READ(file, f_path.dentry);

	return is_path((__u64)BPF_CORE_READ(file, f_path.mnt), dentry) &&
		BPF_CORE_READ(file, f_inode, i_sb) ==
		BPF_CORE_READ((struct dentry *)dentry, d_sb);
}

/*
 * Has an open file a shared mapping that may be written? That of a msync(2) that waits has
 * one: only those are synced (mm/msync.c), and they are counted where they are made
 * (mapping_allow_writable(), include/linux/fs.h). A file that an earlier call or a fault
 * left on the stack has none, as a rule: libraries are mapped privately.
 */
static __always_inline bool is_shared(__u64 word)
{
	struct file *file = (void *)word;

	return BPF_CORE_READ(file, f_mapping, i_mmap_writable.counter) > 0;
}

/*
 * Has an open file lost its last reference? That of a close(2) that waits for its release
 * has (fs/file_table.c, __fput_sync() and fput_close_sync()). Since 90ee6ed776c0, "fs: port
 * files to file_ref" (6.13), such a count is negative (include/linux/file_ref.h).
 */
static __always_inline bool is_released(__u64 word)
{
	struct file *file = (void *)word;

	if (bpf_core_field_exists(file->f_ref))
		return BPF_CORE_READ(file, f_ref.refcnt.counter) < 0;
	return BPF_CORE_READ(file, f_count.counter) == 0;
}

/*
 * Are these the words of the head of a struct vm_fault: vma, flags, pgoff, address
 * (include/linux/mm.h)? Then the place in the mapping follows from the address.
 */
static __always_inline bool is_fault(__u64 mm, __u64 word, __u64 pgoff, __u64 address)
{
	struct vm_area_struct *vma = (void *)word;
	__u64 start;

	if (!address || address >> 48)
		return false;
	start = BPF_CORE_READ(vma, vm_start);
	return (__u64)BPF_CORE_READ(vma, vm_mm) == mm && address >= start &&
		address < BPF_CORE_READ(vma, vm_end) &&
		pgoff == BPF_CORE_READ(vma, vm_pgoff) + ((address - start) >> 12);
}

/* Is the wanted thing at that word of the stack? */
__noinline int is_wanted(__u64 mm, __u32 i, __u32 wanted)
{
	struct scratch *scratch = scratch_of_cpu();
	__u64 *words;

	if (!scratch || i > STACK_WORDS - FIRST_WORD)
		return 0;
	words = scratch->words + i;
	if (wanted == WANT_PATH)
		return is_path(words[0], words[1]);
	if (wanted == WANT_FILE)
		return is_file(words[0]);
	if (wanted == WANT_RELEASED)
		return is_file(words[0]) && is_released(words[0]);
	if (wanted == WANT_SHARED)
		return is_file(words[0]) && is_shared(words[0]);
	return is_fault(mm, words[0], words[2], words[3]);
}

/*
 * The first place of the kernel stack, from the user's registers inwards, where such a
 * thing is: a struct path, as do_mkdirat() and do_unlinkat() have it (fs/namei.c), what
 * leads to an open file, or a struct vm_fault; 0 if there is none in the words which hold
 * the functions that a call begins with and the random gap above them
 * (include/linux/randomize_kstack.h). These two functions are not inline: the verifier
 * checks such a function once, not for each way that leads to it, nor for each word.
 */
__noinline __u64 find_on_stack(__u64 mm, __u64 regs, __u32 wanted)
{
	struct scratch *scratch = scratch_of_cpu();
	int i;

	if (!scratch)
		return 0;
	if (bpf_probe_read_kernel(scratch->words, sizeof(scratch->words),
				  (void *)(regs - sizeof(scratch->words))))
		return 0;
	for (i = STACK_WORDS - FIRST_WORD; i > 0; i--) {
		if (is_kernel(scratch->words[i]) && is_wanted(mm, i, wanted))
			return regs - (STACK_WORDS - i) * 8;
	}
	return 0;
}

/* The path of a struct sockaddr_un is behind its family (linux/un.h); 0: no such one. */
static __always_inline __u64 path_of_address(__u64 user)
{
	__u16 family = 0;

	bpf_probe_read_user(&family, sizeof(family), (void *)user);
	return family == FAMILY_UNIX ? user + sizeof(family) : 0;
}

/*
 * Is there a path at this place of user memory? Not where it is empty, and the folder that
 * it is relative to is the file (AT_EMPTY_PATH).
 */
static __always_inline bool is_named(__u64 user)
{
	char first = 0;

	bpf_probe_read_user(&first, 1, (void *)user);
	return first != 0;
}

#endif
