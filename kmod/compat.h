/* SPDX-License-Identifier: GPL-2.0-only */
/* compat.h: the kernels' differing interfaces to one spelling */
#ifndef BIODELAY_COMPAT_H
#define BIODELAY_COMPAT_H

#include <linux/blkdev.h>
#include <linux/hrtimer.h>
#include <linux/ioprio.h>
#include <linux/ptrace.h>
#include <linux/version.h>
#ifdef CONFIG_X86
#include <asm/cpufeature.h>
#else
#include <asm/virt.h>
#endif

/*
 * Before 4.19 a pre-handler that returns 1 leaves the kprobe current and
 * preemption off, and a module can reset neither (cce188bd58cf, "bpf/error-
 * inject/kprobes: Clear current_kprobe and enable preempt in kprobe", 4.19).
 */
#define BIODELAY_CAN_REDIRECT (LINUX_VERSION_CODE >= KERNEL_VERSION(4, 19, 0))

/*
 * hrtimer_setup() came in 6.13 (908a1d775422, "hrtimers: Introduce
 * hrtimer_setup() to replace hrtimer_init()"); hrtimer_init() left in 6.15.
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

/* The probed function's argument is its first and only one. */
static inline unsigned long biodelay_argument(struct pt_regs *regs)
{
#ifdef CONFIG_X86_64
	return regs->di;
#else
	return regs->regs[0];
#endif
}

static inline void biodelay_set_argument(struct pt_regs *regs,
					 unsigned long value)
{
#ifdef CONFIG_X86_64
	regs->di = value;
#else
	regs->regs[0] = value;
#endif
}

/*
 * REQ_HIPRI became REQ_POLLED in 5.16 (6ce913fe3eee, "block: rename REQ_HIPRI
 * to REQ_POLLED").
 */
static inline bool biodelay_is_polled(const struct bio *bio)
{
#if defined(REQ_POLLED)
	return bio->bi_opf & REQ_POLLED;
#elif defined(REQ_HIPRI)
	return bio->bi_opf & REQ_HIPRI;
#else
	return false;
#endif
}

/*
 * A bio without a priority gets its submitter's when it goes down
 * (bio_set_ioprio() in block/blk-mq.c); the worker's would be another one.
 */
static inline void biodelay_keep_submitter(struct bio *bio)
{
	if (IOPRIO_PRIO_CLASS(bio->bi_ioprio) == IOPRIO_CLASS_NONE)
		bio->bi_ioprio = get_current_ioprio();
}

/*
 * A block device opened for a look: no claim, so nobody is kept out by it.
 * What opens one became a file in 6.9 (f3a608827d1f, "bdev: open block device
 * as files"), a handle in 6.7 (e719b4d15674, "block: Provide bdev_open_*
 * functions"); its mode got a type of its own in 6.5 (05bdb9965305, "block:
 * replace fmode_t with a block-specific type for block open flags").
 */
struct biodelay_look {
	struct block_device *bdev;
	struct inode *inode;
	void *opened;
};

static inline int biodelay_look_at(dev_t dev, struct biodelay_look *look)
{
#if defined(HAVE_BDEV_FILE_OPEN_BY_DEV)
	struct file *opened =
		bdev_file_open_by_dev(dev, BLK_OPEN_READ, NULL, NULL);
#elif defined(HAVE_BDEV_OPEN_BY_DEV)
	struct bdev_handle *opened =
		bdev_open_by_dev(dev, BLK_OPEN_READ, NULL, NULL);
#elif defined(HAVE_BLK_OPEN_READ)
	struct block_device *opened =
		blkdev_get_by_dev(dev, BLK_OPEN_READ, NULL, NULL);
#else
	struct block_device *opened = blkdev_get_by_dev(dev, FMODE_READ, NULL);
#endif

	if (IS_ERR(opened))
		return PTR_ERR(opened);
	look->opened = opened;
#if defined(HAVE_BDEV_FILE_OPEN_BY_DEV)
	look->bdev = file_bdev(opened);
	look->inode = opened->f_mapping->host;
#elif defined(HAVE_BDEV_OPEN_BY_DEV)
	look->bdev = opened->bdev;
	look->inode = opened->bdev->bd_inode;
#else
	look->bdev = opened;
	look->inode = opened->bd_inode;
#endif
	return 0;
}

static inline void biodelay_look_away(struct biodelay_look *look)
{
#if defined(HAVE_BDEV_FILE_OPEN_BY_DEV)
	bdev_fput(look->opened);
#elif defined(HAVE_BDEV_OPEN_BY_DEV)
	bdev_release(look->opened);
#elif defined(HAVE_BLK_OPEN_READ)
	blkdev_put(look->bdev, NULL);
#else
	blkdev_put(look->bdev, FMODE_READ);
#endif
}

/*
 * fs_holder_ops came in 6.6 (7ecd0b6f5100, "fs: export fs_holder_ops");
 * before, every claim counts.
 */
static inline bool biodelay_has_foreign_holder(struct block_device *bdev)
{
#ifdef HAVE_FS_HOLDER_OPS
	return bdev->bd_holder && bdev->bd_holder_ops != &fs_holder_ops;
#else
	return bdev->bd_holder;
#endif
}

static inline bool biodelay_is_stacked(struct gendisk *disk)
{
#ifdef CONFIG_BLOCK_HOLDER_DEPRECATED
	return !list_empty(&disk->slave_bdevs);
#else
	return false;
#endif
}

/* A guest's CPU says so on x86; on arm64 it was not entered at EL2. */
static inline bool biodelay_is_guest(void)
{
#ifdef CONFIG_X86
	return boot_cpu_has(X86_FEATURE_HYPERVISOR);
#else
	return !is_hyp_mode_available();
#endif
}

#endif
