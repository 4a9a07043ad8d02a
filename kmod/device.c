// SPDX-License-Identifier: GPL-2.0-only
/* device.c: find a device by its name; compare a bio's device with a rule's */
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

/* @name is a path, or a kernel name, looked up in devtmpfs. */
static int find(const char *name, dev_t *dev)
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
	err = biodelay_bdev_lookup(path, dev);
	kfree(path);
	return err;
}

/**
 * biodelay_device_find() - find a block device, without keeping it open
 * @device: filled on success
 * @name: "MAJ:MIN", a kernel name such as vdb or vdb1, or a path
 *
 * A rule stores the device number and the disk's identity, and holds no reference, so
 * the disk can be unmounted, repartitioned or removed as if the rule did not exist.
 *
 * Context: may sleep.
 * Return: 0; -ENOTBLK if it is not a block device, -ENODEV if it does not exist.
 */
int biodelay_device_find(struct biodelay_device *device, const char *name)
{
	struct biodelay_device found = { };
	struct biodelay_bdev opened;
	int err = find(name, &found.dev);

	if (err == -ENOTBLK) {
		pr_err("device='%s': not a block device\n", name);
		return err;
	}
	if (!err)
		err = biodelay_bdev_open(found.dev, &opened);
	if (err) {
		pr_err("device='%s': no such block device (error %d); lsblk lists them\n",
		       name, err);
		return -ENODEV;
	}
	found.disk = disk_devt(opened.bdev->bd_disk);
	found.id = biodelay_disk_id(opened.bdev->bd_disk);
	found.partno = bdev_partno(opened.bdev);
	found.start = get_start_sect(opened.bdev);
	found.zoned = bdev_is_zoned(opened.bdev);
	biodelay_name(opened.bdev, found.name, sizeof(found.name));
	biodelay_bdev_close(&opened);
	*device = found;
	return 0;
}

/**
 * biodelay_device_has() - whether a bio is for a device or one of its partitions
 * @device: the device
 * @bio: the bio, not yet submitted
 */
bool biodelay_device_has(const struct biodelay_device *device,
			 const struct bio *bio)
{
	struct gendisk *disk = biodelay_disk_of(bio);

	return disk && disk_devt(disk) == device->disk &&
	       (!device->partno || device->partno == biodelay_partno_of(bio));
}

/**
 * biodelay_device_is_same() - whether a bio is for the disk that was found
 * @device: the device of the bio, by its number
 * @bio: the bio, not yet submitted
 *
 * Return: false for a disk that has got the number of one that was removed: it has not
 * been guarded.
 */
bool biodelay_device_is_same(const struct biodelay_device *device,
			     const struct bio *bio)
{
	const struct gendisk *disk = biodelay_disk_of(bio);

	return disk && biodelay_disk_id(disk) == device->id;
}

/**
 * biodelay_device_sector() - a bio's first sector, from the start of a device
 * @device: the device of the bio
 * @bio: the bio, not yet submitted
 */
u64 biodelay_device_sector(const struct biodelay_device *device,
			   const struct bio *bio)
{
	return bio->bi_iter.bi_sector + biodelay_start_of(bio) - device->start;
}
