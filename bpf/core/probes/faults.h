/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * faults.h: keep page faults of the chosen tasks, for a replay
 *
 * Those that read from the disk, and those by which a page of a shared mapping becomes
 * writable: the file system's page_mkwrite() may sleep as write(2) does. A store to a page
 * that is writable already is no event of the kernel's.
 */
#ifndef FAULTS_H
#define FAULTS_H

#include "profile.h"

#define FAULT_FLAG_WRITE 1	/* linux/mm_types.h */
#define VM_SHARED 8		/* linux/mm.h */
#define VM_FAULT_MAJOR 0x4	/* linux/mm_types.h */
#define VM_FAULT_ERROR 0x73	/* out of memory, no such page, broken memory, no access */
#define VM_FAULT_RETRY 0x400
#define VM_FAULT_COMPLETED 0x4000

static __always_inline void enter_fault(struct vm_area_struct *vma, __u64 address,
					__u32 flags)
{
	struct file *file = vma->vm_file;
	struct caller *caller;
	__s64 offset;

	if (!file)
		return;
	caller = caller_of_task();
	if (!is_chosen_caller(caller))
		return;
	offset = (address & ~(page_bytes - 1)) - vma->vm_start +
		vma->vm_pgoff * page_bytes;
	if (caller->fault.t_ns && caller->fault.file == (__u64)file &&
	    caller->fault.offset == offset)
		return;		/* again, after VM_FAULT_RETRY */
	caller->fault.file = (__u64)file;
	caller->fault.offset = offset;
	caller->fault.is_major = false;
	caller->fault.stores = (flags & FAULT_FLAG_WRITE) &&
		(vma->vm_flags & VM_SHARED);
	caller->fault.t_ns = bpf_ktime_get_ns();
}

/* Where the lock of the mapping is gone, the mapping may be gone, too. */
static __always_inline bool is_of_no_file(struct vm_area_struct *vma, __u32 result)
{
	return !(result & (VM_FAULT_RETRY | VM_FAULT_COMPLETED)) &&
		!vma->vm_file;
}

static __always_inline void leave_fault(struct vm_area_struct *vma, __u32 result)
{
	struct kept_row row = {};
	struct caller *caller;

	if (is_of_no_file(vma, result))
		return;
	caller = known_caller();
	if (!caller || !caller->fault.t_ns)
		return;
	caller->fault.is_major |= !!(result & VM_FAULT_MAJOR);
	if (result & VM_FAULT_RETRY)
		return;
	row.t_ns = caller->fault.t_ns;
	caller->fault.t_ns = 0;
	if ((result & VM_FAULT_ERROR) || !(caller->fault.stores || caller->fault.is_major))
		return;
	row.file = number_of_file((void *)caller->fault.file);
	if (!row.file)
		return;
	row.offset = caller->fault.offset;
	row.tid = caller->tid;
	row.bytes = page_bytes;
	row.op = KEEP_FAULT;
	row.flags = caller->fault.stores;
	caller->news_ns = keep(&row);
}

#endif
