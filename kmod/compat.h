/* SPDX-License-Identifier: GPL-2.0-only */
/* compat.h: one interface to the kernels 4.4 to 7.2 */

/*
 * Each difference cites the commit that made it and its release. Kbuild looks for
 * the interfaces in the kernel's headers and defines HAVE_...; compat_block.h has
 * the differences of the block layer. No other file depends on the kernel version.
 */
#ifndef BIODELAY_COMPAT_H
#define BIODELAY_COMPAT_H

#include <linux/linkage.h>

/*
 * SYM_FUNC_START() came in 5.5 (ffedeeb780dc, "linkage: Introduce new macros
 * for assembler symbols"), ENDBR in 5.18 (156ff4a544ae, "x86/ibt: Base IBT
 * bits").
 */
#ifdef __ASSEMBLER__
#ifndef SYM_FUNC_START
#define SYM_FUNC_START(name) ENTRY(name)
#define SYM_FUNC_END(name) ENDPROC(name)
#endif
#ifndef ENDBR
#define ENDBR
#endif
#else

#include <linux/cgroup.h>
#include <linux/dcache.h>
#include <linux/eventpoll.h>
#include <linux/hrtimer.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/poll.h>
#include <linux/ptrace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/swap.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
/*
 * 4.11: 299300258d1b, "sched/headers: Prepare for new header dependencies
 * before moving code to <linux/sched/task.h>", and its neighbours
 */
#ifdef HAVE_SCHED_HEADERS
#include <linux/sched/mm.h>
#include <linux/sched/task.h>
#include <linux/sched/task_stack.h>
#include <uapi/linux/sched/types.h>
#endif
/*
 * CONFIG_GLOB cannot be selected by hand: libata selects it and, since 4.10
 * (60f1d5e3bac4, "ftrace: Support full glob matching"), tracing does. The fallback
 * supports * and ? only.
 */
#if IS_ENABLED(CONFIG_GLOB)
#include <linux/glob.h>
#define BIODELAY_GLOBS "every [ closed"
#else
#include <linux/parser.h>
#define glob_match match_wildcard
#define BIODELAY_GLOBS "* and ? alone: no CONFIG_GLOB here"
#endif
/* 6.4: "kernel.h: split the hexadecimal related helpers to hex.h" */
#ifdef HAVE_HEX_HEADER
#include <linux/hex.h>
#endif
#ifdef CONFIG_X86
#include <asm/cpufeature.h>
#else
#include <linux/acpi.h>
#include <linux/of.h>
#endif

/* Processors */

/*
 * Before 4.19 a pre-handler that returns 1 leaves the kprobe current and
 * preemption off, and a module can reset neither (cce188bd58cf, "bpf/error-
 * inject/kprobes: Clear current_kprobe and enable preempt in kprobe", 4.19).
 * No interface shows this, so test the release.
 */
#define BIODELAY_CAN_REDIRECT (LINUX_VERSION_CODE >= KERNEL_VERSION(4, 19, 0))

/*
 * A spinning handler ends the delay with preemption off, and waking a reader of the
 * record takes the lock of a wait queue, which sleeps with PREEMPT_RT
 * (Documentation/locking/locktypes.rst). It is PREEMPT_RT_FULL in the patches for kernels
 * before 5.3.
 */
#define BIODELAY_CAN_SPIN \
	(!IS_ENABLED(CONFIG_PREEMPT_RT) && !IS_ENABLED(CONFIG_PREEMPT_RT_FULL))

/* The only argument of the probed function. */
#if defined(CONFIG_X86_64)
#define BIODELAY_ARGUMENT(regs) ((regs)->di)
#elif defined(CONFIG_ARM64)
#define BIODELAY_ARGUMENT(regs) ((regs)->regs[0])
#else
#error "biodelay knows x86-64 and arm64"
#endif

/*
 * On x86 a CPU flag shows that it is a guest. On arm64 a guest starts its CPUs by
 * calling its hypervisor (hvc), a physical machine by calling its firmware (smc).
 * This is in the device tree (Documentation/devicetree/bindings/arm/psci.yaml) or
 * in the ACPI FADT.
 */
static inline bool biodelay_is_guest(void)
{
#ifdef CONFIG_X86
	return boot_cpu_has(X86_FEATURE_HYPERVISOR);
#else
	struct device_node *psci = of_find_node_by_path("/psci");
	const char *method = "";
	bool calls_hypervisor = false;

#ifdef CONFIG_ACPI
	calls_hypervisor = acpi_gbl_FADT.arm_boot_flags &
			   ACPI_FADT_PSCI_USE_HVC;
#endif
	of_property_read_string(psci, "method", &method);
	calls_hypervisor |= !strcmp(method, "hvc");
	of_node_put(psci);
	return calls_hypervisor;
#endif
}

/* Tasks */

/*
 * The id of the current task's cgroup, which is the inode number of its directory;
 * 64 bits wide since 5.5 (743210386c03, "cgroup: use cgrp->kn->id as the cgroup
 * ID"). 0 in kernels without cgroups.
 */
static inline u64 biodelay_cgroup(void)
{
	u64 id = 0;

#ifdef CONFIG_CGROUPS
	rcu_read_lock();
#ifdef HAVE_CGROUP_ID
	id = cgroup_id(task_css_set(current)->dfl_cgrp);
#else
	id = cgroup_ino(task_css_set(current)->dfl_cgrp);
#endif
	rcu_read_unlock();
#endif
	return id;
}

/* 5.9: 7318d4cc14c8, "sched: Provide sched_set_fifo()" */
#ifndef HAVE_SCHED_SET_FIFO
static inline void sched_set_fifo(struct task_struct *task)
{
	struct sched_param param = { .sched_priority = MAX_RT_PRIO / 2 };

	sched_setscheduler(task, SCHED_FIFO, &param);
}
#endif

/*
 * 5.8: 25f12ae45fc1, "maccess: rename probe_kernel_address to
 * get_kernel_nofault", and 0c389d89abc2
 */
#ifndef get_kernel_nofault
#define get_kernel_nofault(value, from) probe_kernel_address(from, value)
#endif

/*
 * Whether the current task, a worker, is executing a work function for which @is_it
 * holds. current_work() was added in 4.17 (27d4ee03078a, "workqueue: Allow retrieval
 * of current task's work struct"). Before, the flusher is recognised by the flag
 * that wb_workfn() in fs/fs-writeback.c sets; workers set it otherwise only to
 * migrate pages (migrate_pages() in mm/migrate.c). A work item may be freed while it
 * runs, hence the nofault read.
 */
static inline bool biodelay_works_at(bool (*is_it)(work_func_t func))
{
#ifdef HAVE_CURRENT_WORK
	struct work_struct *work = current_work();
	work_func_t func;

	return work && !get_kernel_nofault(func, &work->func) && is_it(func);
#else
	return current->flags & PF_SWAPWRITE;
#endif
}

/* Waiting */

/*
 * Wait until all running handlers have ended; they run with preemption off. Since
 * 4.20 RCU and RCU-sched are the same (45975c7d21a1, "rcu: Define RCU-sched API in
 * terms of RCU for Tree RCU PREEMPT builds").
 */
static inline void biodelay_wait_for_handlers(void)
{
#ifdef HAVE_SYNCHRONIZE_SCHED
	synchronize_sched();
#else
	synchronize_rcu();
#endif
}

/*
 * Wait until all tasks have slept or returned to user mode. Not every kernel before
 * 4.12 supports this; it is not needed on kernels that do not redirect.
 */
static inline void biodelay_wait_for_tasks(void)
{
#if BIODELAY_CAN_REDIRECT
	synchronize_rcu_tasks();
#endif
}

/*
 * hrtimer_setup() was added in 6.13 (908a1d775422, "hrtimers: Introduce
 * hrtimer_setup() to replace hrtimer_init()"); hrtimer_init() was removed in 6.15.
 */
#ifndef HAVE_HRTIMER_SETUP
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*fn)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = fn;
}
#endif

/* 4.5: 1ce0bf50ae22, "net: Generalise wq_has_sleeper helper" */
#ifndef HAVE_WQ_HAS_SLEEPER
static inline bool wq_has_sleeper(wait_queue_head_t *queue)
{
	smp_mb(); /* order the wait condition before the list of waiters */
	return waitqueue_active(queue);
}
#endif

/* 4.16: 8ced390c2b18, "define __poll_t, annotate constants" */
#ifndef HAVE___POLL_T
typedef unsigned int __poll_t;
#endif

/* 4.11: 7e040726850a, "eventpoll.h: add missing epoll event masks" */
#ifndef EPOLLIN
#define EPOLLIN POLLIN
#define EPOLLRDNORM POLLRDNORM
#endif

/* Memory, strings and files */

/* 4.9's <linux/magic.h> has it; in 4.4 it is private to fs/overlayfs/super.c. */
#ifndef OVERLAYFS_SUPER_MAGIC
#define OVERLAYFS_SUPER_MAGIC 0x794c7630
#endif

/*
 * Before 4.16 the result must be used (08a77676f9c5, "string: drop __must_check
 * from strscpy() and restore strscpy() usages in cgroup").
 */
#ifdef HAVE_MUST_CHECK_STRSCPY
#define strscpy(to, from, size) \
({ \
	ssize_t copied_ = strscpy(to, from, size); \
	copied_; \
})
#endif

/*
 * 4.6: a118084432d6, "vfs: add d_real_inode() helper". Before, call the overlay's
 * dentry operation directly (4bacc9c9234c, "overlayfs: Make f_path always point to
 * the overlay and f_inode to the underlay", 4.2).
 */
#ifndef HAVE_D_REAL_INODE
static inline struct inode *d_real_inode(struct dentry *dentry)
{
	if (dentry->d_flags & DCACHE_OP_SELECT_INODE)
		return dentry->d_op->d_select_inode(dentry, O_RDONLY);
	return d_inode(dentry);
}
#endif

/*
 * The file of a process' program, with a reference; NULL if it has none. Since 6.7 a
 * file's memory is reused at once (0ede61d8589c, "file: convert to
 * SLAB_TYPESAFE_BY_RCU"), and get_file_rcu() compares again. get_mm_exe_file() in
 * kernel/fork.c does the same, but not all kernels export it.
 */
static inline struct file *biodelay_exe_file(struct mm_struct *mm)
{
	struct file *file;

	rcu_read_lock();
#ifdef HAVE_FILE_SLAB
	file = get_file_rcu(&mm->exe_file);
#else
	do {
		file = rcu_dereference(mm->exe_file);
	} while (file && !get_file_rcu(file));
#endif
	rcu_read_unlock();
	return file;
}

/*
 * Modules may read how much swap is free where mm/swapfile.c exports nr_swap_pages:
 * 4.9.154 does, 4.4.155 does not, and no header shows it. Elsewhere there may be some.
 */
static inline bool biodelay_may_swap(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(4, 9, 0)
	return get_nr_swap_pages() > 0;
#else
	return true;
#endif
}

/* 4.12: a7c3e901a46f, "mm: introduce kv[mz]alloc helpers" */
#ifndef HAVE_KVMALLOC
#define kvmalloc(size, flags) __vmalloc(size, flags, PAGE_KERNEL)
#endif

/* 4.18: 1c542f38ab8d, "mm: Introduce kvcalloc()" */
#ifndef HAVE_KVCALLOC
#define kvcalloc(n, size, flags) kvmalloc((n) * (size), (flags) | __GFP_ZERO)
#endif

/* 4.16: a08f06bb7a07, "seq_file: Introduce DEFINE_SHOW_ATTRIBUTE()" */
#ifndef DEFINE_SHOW_ATTRIBUTE
#define DEFINE_SHOW_ATTRIBUTE(name) \
static int name##_open(struct inode *inode, struct file *file) \
{ \
	return single_open(file, name##_show, inode->i_private); \
} \
static const struct file_operations name##_fops = { \
	.owner = THIS_MODULE, \
	.open = name##_open, \
	.read = seq_read, \
	.llseek = seq_lseek, \
	.release = single_release, \
}
#endif

#include "compat_block.h"

#endif /* __ASSEMBLER__ */
#endif
