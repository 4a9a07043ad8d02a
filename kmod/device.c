// SPDX-License-Identifier: GPL-2.0-only
/* device.c: a device's name to its number; a bio's place to a rule's */
#include <linux/blkdev.h>
#include <linux/kdev_t.h>
#include <linux/slab.h>
#include "biodelay.h"

static int parse_number(const char *name, dev_t *dev)
{
	unsigned int major, minor;
	char rest;

	if (sscanf(name, "%u:%u%c", &major, &minor, &rest) != 2 ||
	    major >= BIT(12) || minor > MINORMASK)
		return -EINVAL;
	*dev = MKDEV(major, minor);
	return 0;
}

/* A path as it is; a name as the kernel's, whose node devtmpfs keeps. */
static int look_up(const char *name, dev_t *dev)
{
	char *path;
	int err;

	if (!*name)
		return -EINVAL;
	if (!parse_number(name, dev))
		return 0;
	path = kasprintf(GFP_KERNEL, "%s%s", *name == '/' ? "" : "/dev/", name);
	if (!path)
		return -ENOMEM;
	err = lookup_bdev(path, dev);
	kfree(path);
	return err;
}

/**
 * biodelay_device_find() - find a block device, and keep nothing of it open
 * @device: filled on success
 * @name: "MAJ:MIN", a kernel name such as vdb or vdb1, or a path
 *
 * A rule goes by the number: it holds no reference, so the disk can be
 * unmounted, repartitioned or removed as if the rule were not there.
 *
 * Context: may sleep.
 * Return: 0; -ENOTBLK for what is no block device, -ENODEV for what is not
 * there.
 */
int biodelay_device_find(struct biodelay_device *device, const char *name)
{
	struct biodelay_device found = { };
	struct biodelay_look look;
	int err = look_up(name, &found.dev);

	if (err == -ENOTBLK) {
		pr_err("device='%s': not a block device\n", name);
		return err;
	}
	if (!err)
		err = biodelay_look_at(found.dev, &look);
	if (err) {
		pr_err("device='%s': no such block device (error %d); lsblk lists them\n",
		       name, err);
		return -ENODEV;
	}
	found.whole = !bdev_is_partition(look.bdev);
	found.start = get_start_sect(look.bdev);
	found.zoned = bdev_is_zoned(look.bdev);
	snprintf(found.name, sizeof(found.name), "%pg", look.bdev);
	biodelay_look_away(&look);
	*device = found;
	return 0;
}

/**
 * biodelay_device_has() - whether a bio goes to a device or its partition
 * @device: the device
 * @bio: the bio, not yet submitted
 */
bool biodelay_device_has(const struct biodelay_device *device,
			 const struct bio *bio)
{
	const struct block_device *bdev = bio->bi_bdev;

	if (!bdev)
		return false;
	return bdev->bd_dev == device->dev ||
	       (device->whole && bdev->bd_disk->part0->bd_dev == device->dev);
}

/**
 * biodelay_device_sector() - a bio's first sector, counted from a device's
 * @device: one that has the bio
 * @bio: its sectors count from its own partition until it is remapped
 *       (blk_partition_remap() in block/blk-core.c)
 */
u64 biodelay_device_sector(const struct biodelay_device *device,
			   const struct bio *bio)
{
	u64 sector = bio->bi_iter.bi_sector;

	if (!(bio->bi_flags & BIT(BIO_REMAPPED)))
		sector += get_start_sect(bio->bi_bdev);
	return sector - device->start;
}
