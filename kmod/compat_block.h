/* SPDX-License-Identifier: GPL-2.0-only */
/* compat_block.h: one interface to the block layers of these kernels */
#ifndef BIODELAY_COMPAT_BLOCK_H
#define BIODELAY_COMPAT_BLOCK_H

#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/fs.h>
#include <linux/iocontext.h>
#include <linux/ioprio.h>
#include <linux/kallsyms.h>
/* MODULE_NAME_LEN of KSYM_SYMBOL_LEN: 4.9's <linux/kallsyms.h> does not include it. */
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/swap.h>
#include <linux/uaccess.h>
#include <linux/version.h>

/* Block devices */

/*
 * 6.10: 1116b9fa15c0, "bdev: infrastructure for flags". Before, a field; before
 * 4.14 (74d46992e0d9, "block: replace bi_bdev with a gendisk pointer and
 * partitions index") a field of another structure.
 */
#ifndef HAVE_BDEV_PARTNO
static inline u8 bdev_partno(const struct block_device *bdev)
{
#ifdef HAVE_BD_PARTNO
	return bdev->bd_partno;
#else
	return bdev->bd_part->partno;
#endif
}
#endif

/*
 * bdevname() was removed in 6.0 (900d156bac2b, "block: remove bdevname"); %pg
 * prints the same, but exists only since 4.5 (1031bc589228, "lib/vsprintf: add %*pg
 * format specifier").
 */
static inline void biodelay_name(struct block_device *bdev, char *name,
				 size_t size)
{
#ifdef HAVE_BDEVNAME
	char buffer[BDEVNAME_SIZE];

	snprintf(name, size, "%s", bdevname(bdev, buffer));
#else
	snprintf(name, size, "%pg", bdev);
#endif
}

/* 5.11: 4e7b5671c6a8, "block: remove i_bdev", gives lookup_bdev() a dev_t */
static inline int biodelay_bdev_lookup(const char *path, dev_t *dev)
{
#ifdef HAVE_LOOKUP_DEV_T
	return lookup_bdev(path, dev);
#else
	struct block_device *bdev = lookup_bdev(path);

	if (IS_ERR(bdev))
		return PTR_ERR(bdev);
	*dev = bdev->bd_dev;
	bdput(bdev);
	return 0;
#endif
}

/*
 * A block device, opened without a claim, so that no other open is refused. An open
 * block device is a file since 6.9 (f3a608827d1f, "bdev: open block device as
 * files") and was a handle since 6.7 (e719b4d15674, "block: Provide bdev_open_*
 * functions"); the mode has its own type since 6.5 (05bdb9965305, "block: replace
 * fmode_t with a block-specific type for block open flags").
 */
struct biodelay_bdev {
	struct block_device *bdev;
	struct inode *inode;
	void *opened;
};

static inline int biodelay_bdev_open(dev_t dev, struct biodelay_bdev *found)
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
	/* Not IS_ERR(): gcc 9 then assumes that the error may be 0 as an int. */
	int err = PTR_ERR_OR_ZERO(opened);

	if (err)
		return err;
	found->opened = opened;
#if defined(HAVE_BDEV_FILE_OPEN_BY_DEV)
	found->bdev = file_bdev(opened);
	found->inode = opened->f_mapping->host;
#elif defined(HAVE_BDEV_OPEN_BY_DEV)
	found->bdev = opened->bdev;
	found->inode = opened->bdev->bd_inode;
#else
	found->bdev = opened;
	found->inode = opened->bd_inode;
#endif
	return 0;
}

static inline void biodelay_bdev_close(struct biodelay_bdev *found)
{
#if defined(HAVE_BDEV_FILE_OPEN_BY_DEV)
	bdev_fput(found->opened);
#elif defined(HAVE_BDEV_OPEN_BY_DEV)
	bdev_release(found->opened);
#elif defined(HAVE_BLK_OPEN_READ)
	blkdev_put(found->bdev, NULL);
#else
	blkdev_put(found->bdev, FMODE_READ);
#endif
}

/*
 * List a disk and its partitions; -E2BIG if there are more than @room. Partitions
 * are block devices since 5.11 (0d02129e76ed, "block: merge struct block_device
 * and struct hd_struct"), in an xarray since 5.12 (a33df75c6328, "block: use an
 * xarray for disk->part_tbl"); 5.11 itself is not supported.
 */
static inline int biodelay_parts(struct gendisk *disk, dev_t *parts, int room)
{
	int count = 0;
#ifdef HAVE_HD_STRUCT
	struct disk_part_iter iter;
	struct hd_struct *part;

	disk_part_iter_init(&iter, disk, DISK_PITER_INCL_PART0);
	while ((part = disk_part_iter_next(&iter)) && count++ < room)
		parts[count - 1] = part_devt(part);
	disk_part_iter_exit(&iter);
#else
	struct block_device *part;
	unsigned long number;

	rcu_read_lock();
	xa_for_each(&disk->part_tbl, number, part)
		if (count++ < room)
			parts[count - 1] = part->bd_dev;
	rcu_read_unlock();
#endif
	return count <= room ? count : -E2BIG;
}

/* 5.15: cf179948554a, "block: add disk sequence number" */
static inline u64 biodelay_disk_id(const struct gendisk *disk)
{
#ifdef HAVE_DISKSEQ
	return disk->diskseq;
#else
	return (unsigned long)disk; /* a later one may get it, too */
#endif
}

/* How often a disk is open. 5.19: dbdc1be32591, "block: add a disk_openers helper" */
static inline unsigned int biodelay_openers(const struct block_device *whole)
{
#ifdef HAVE_DISK_OPENERS
	return disk_openers(whole->bd_disk);
#else
	return whole->bd_openers;
#endif
}

/* 4.10: 797476b88b05, "block: Add 'zoned' queue limit" */
#ifndef HAVE_BDEV_IS_ZONED
static inline bool bdev_is_zoned(struct block_device *bdev)
{
	return false;
}
#endif

/*
 * The file system on a device, valid until biodelay_super_put(); NULL if there is
 * none or it cannot be determined (btrfs). Since 6.6 the super_block is the holder
 * of the device (2ea6f68932f7, "fs: use the super_block as holder when mounting file
 * systems"), and bd_end_claim() waits for the lock. Before, bd_super points to it
 * and is cleared first (fs/super.c, kill_block_super()); the memory is freed a grace
 * period later (destroy_super_rcu(); kfree_rcu() in 4.4).
 */
static inline struct super_block *biodelay_super_get(struct block_device *bdev)
{
#if defined(HAVE_BD_SUPER)
	rcu_read_lock();
	return READ_ONCE(bdev->bd_super);
#elif defined(HAVE_FS_HOLDER_OPS)
	mutex_lock(&bdev->bd_holder_lock);
	return bdev->bd_holder_ops == &fs_holder_ops ? bdev->bd_holder : NULL;
#else
	return NULL;
#endif
}

static inline void biodelay_super_put(struct block_device *bdev)
{
#if defined(HAVE_BD_SUPER)
	rcu_read_unlock();
#elif defined(HAVE_FS_HOLDER_OPS)
	mutex_unlock(&bdev->bd_holder_lock);
#endif
}

/*
 * A claim of a partition also claims its disk, with bd_may_claim() as the holder
 * (bd_finish_claiming() in fs/block_dev.c), which is not exported.
 */
static inline bool biodelay_is_claimed(const struct block_device *bdev)
{
	const void *holder = READ_ONCE(bdev->bd_holder);
	char name[KSYM_SYMBOL_LEN];

	sprint_symbol_no_offset(name, (unsigned long)holder);
	return holder && strcmp(name, "bd_may_claim");
}

/*
 * 5.8: fe557319aa06, "maccess: rename probe_kernel_{read,write} to
 * copy_{from,to}_kernel_nofault"
 */
#ifndef HAVE_COPY_FROM_KERNEL_NOFAULT
#define copy_from_kernel_nofault probe_kernel_read
#endif

/*
 * Swap devices are marked like swap files since 5.4 (1638045c3677, "mm: set S_SWAPFILE on
 * blockdev swap devices"). Before, their holder is the swap_info_struct, which names the
 * device before it claims it (claim_swapfile() in mm/swapfile.c). Another holder may be
 * any address, and shorter.
 */
static inline bool biodelay_is_swap(const struct biodelay_bdev *opened)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(5, 4, 0)
	return IS_SWAPFILE(opened->inode);
#else
	const struct swap_info_struct *holder = READ_ONCE(opened->bdev->bd_holder);
	const struct block_device *bdev;

	return holder &&
	       !copy_from_kernel_nofault(&bdev, &holder->bdev, sizeof(bdev)) &&
	       bdev == opened->bdev;
#endif
}

/*
 * The list of the disks below a stacked disk was added in 5.15 (0dbcfe247f22,
 * "block: look up holders by bdev"); the directory in sysfs is older.
 */
static inline bool biodelay_is_stacked(struct gendisk *disk)
{
#if defined(CONFIG_BLOCK_HOLDER_DEPRECATED)
	return !list_empty(&disk->slave_bdevs);
#elif !defined(HAVE_SLAVE_BDEVS) && defined(CONFIG_SYSFS)
	return disk->slave_dir &&
	       !RB_EMPTY_ROOT(&disk->slave_dir->sd->dir.children);
#else
	return false;
#endif
}

/* Bios */

/*
 * Before 4.8 the operation of a bio is one of its flags (4e1b2d52a80d, "block,
 * fs, drivers: remove REQ_OP compat defs and related code"; 1eff9d322a44,
 * "block: rename bio bi_rw to bi_opf"; 28a8d26eb359, "block, drivers, fs:
 * rename REQ_FLUSH to REQ_PREFLUSH").
 */
#ifndef HAVE_BI_OPF
#define bi_opf bi_rw
#define REQ_PREFLUSH REQ_FLUSH
enum {
	REQ_OP_READ,
	REQ_OP_WRITE,
	REQ_OP_FLUSH,
	REQ_OP_DISCARD,
	REQ_OP_SECURE_ERASE,
	REQ_OP_WRITE_SAME
};

static inline unsigned int bio_op(const struct bio *bio)
{
	if (bio->bi_rw & REQ_DISCARD)
		return bio->bi_rw & REQ_SECURE ? REQ_OP_SECURE_ERASE :
						 REQ_OP_DISCARD;
	if (bio->bi_rw & REQ_WRITE_SAME)
		return REQ_OP_WRITE_SAME;
	return bio->bi_rw & REQ_WRITE ? REQ_OP_WRITE : REQ_OP_READ;
}
#endif

/* 4.10: a6f0788ec288, "block: add support for REQ_OP_WRITE_ZEROES" */
#ifndef HAVE_REQ_OP_WRITE_ZEROES
enum { REQ_OP_WRITE_ZEROES = 1 << 16 }; /* matches no bio */
#endif

/* 5.8: 0512a75b98f8, "block: Introduce REQ_OP_ZONE_APPEND" */
#ifndef HAVE_REQ_OP_ZONE_APPEND
enum { REQ_OP_ZONE_APPEND = 1 << 17 }; /* matches no bio */
#endif

#ifndef REQ_NOWAIT /* 4.13: 03a07c92a9ed, "block: return on congested block device" */
#define REQ_NOWAIT 0
#endif

/* 6.0: 342a72a33407, "block: Introduce the type blk_opf_t" */
#ifndef HAVE_BLK_OPF_T
typedef unsigned int blk_opf_t;
#endif

/*
 * REQ_HIPRI was added in 5.0 (d1e36282b0bb, "block: add REQ_HIPRI and inherit it
 * from IOCB_HIPRI") and renamed REQ_POLLED in 5.16 (6ce913fe3eee, "block: rename
 * REQ_HIPRI to REQ_POLLED"). Before, a poller sleeps if it gets no cookie.
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
 * A bio without a priority gets that of the task that submits it (bio_set_ioprio()
 * in block/blk-mq.c), which would be the worker; set it here.
 * 5.0: 76dc891395c1, "block: Introduce get_current_ioprio()".
 */
static inline void biodelay_keep_submitter(struct bio *bio)
{
#ifdef HAVE_GET_CURRENT_IOPRIO
	if (IOPRIO_PRIO_CLASS(bio->bi_ioprio) == IOPRIO_CLASS_NONE)
		bio->bi_ioprio = get_current_ioprio();
#else
	if (current->io_context && !ioprio_valid(bio_prio(bio)))
		bio_set_prio(bio, current->io_context->ioprio);
#endif
}

/*
 * The target of a bio: its disk, the number of its partition or 0, and the offset
 * of its sectors from the start of the disk. Sectors are relative to the partition
 * until blk_partition_remap() in block/blk-core.c.
 *
 * Up to 4.13 a bio has a block device (that of the whole disk once remapped); since
 * 4.14 a disk and a partition number (74d46992e0d9, "block: replace bi_bdev with a
 * gendisk pointer and partitions index"; 0 once remapped); since 5.12 a block device
 * again (309dca309fc3, "block: store a block_device pointer in struct bio"; with a
 * flag once remapped).
 */
#ifdef HAVE_BI_DISK
static inline struct gendisk *biodelay_disk_of(const struct bio *bio)
{
	return bio->bi_disk;
}

static inline u8 biodelay_partno_of(const struct bio *bio)
{
	return bio->bi_partno;
}

static inline sector_t biodelay_start_of(const struct bio *bio)
{
	const struct disk_part_tbl *table;
	const struct hd_struct *part = NULL;
	sector_t start;

	rcu_read_lock();
	table = rcu_dereference(bio->bi_disk->part_tbl);
	if (bio->bi_partno < table->len)
		part = rcu_dereference(table->part[bio->bi_partno]);
	start = part ? part->start_sect : 0;
	rcu_read_unlock();
	return start;
}
#else
static inline struct gendisk *biodelay_disk_of(const struct bio *bio)
{
	return bio->bi_bdev ? bio->bi_bdev->bd_disk : NULL;
}

static inline u8 biodelay_partno_of(const struct bio *bio)
{
	return bdev_partno(bio->bi_bdev);
}

static inline sector_t biodelay_start_of(const struct bio *bio)
{
#ifdef HAVE_BIO_REMAPPED
	if (bio->bi_flags & BIT(BIO_REMAPPED))
		return 0;
#endif
	return get_start_sect(bio->bi_bdev);
}
#endif

#endif
