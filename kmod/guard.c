// SPDX-License-Identifier: GPL-2.0-only
/* guard.c: refuse disks that the machine needs, and physical machines */
#include <linux/blkdev.h>
#include <linux/dcache.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/magic.h>
#include <linux/mm_types.h>
#include <linux/pagemap.h>
#include <linux/pid.h>
#include <linux/slab.h>
#include "biodelay.h"

/* A test of a disk or partition; some are about a file system, the others get NULL. */
typedef bool (*bdev_test_t)(const struct biodelay_bdev *opened,
			    const struct super_block *sb);

/*
 * Whether a device is claimed by something other than a file system on it: by
 * device-mapper, md or a multi-device file system (btrfs).
 */
static bool is_part_of_more(const struct biodelay_bdev *opened,
			    const struct super_block *unused)
{
	struct super_block *sb = biodelay_super_get(opened->bdev);
	bool alone = sb && sb->s_bdev == opened->bdev;

	biodelay_super_put(opened->bdev);
	return !alone && biodelay_is_claimed(opened->bdev);
}

/*
 * Whether a file system has claimed a device, be it for a journal, log or real-time
 * part: it is the holder (ext4_get_journal_blkdev() in fs/ext4/super.c, and
 * xfs_blkdev_get() in fs/xfs/xfs_super.c since 6.6), or its private data is (XFS before).
 */
static bool is_claimed_for(const struct biodelay_bdev *opened,
			   const struct super_block *sb)
{
	const void *holder = READ_ONCE(opened->bdev->bd_holder);

	return holder && (holder == sb || holder == sb->s_fs_info);
}

/*
 * Whether an inode is what a loop device is made of: the device's memory must not be
 * reclaimed by I/O (mapping_set_gfp_mask() in drivers/block/loop.c).
 */
static bool backs_loop(const struct inode *inode)
{
	return !(mapping_gfp_mask(inode->i_mapping) & __GFP_IO);
}

/*
 * Swap files are kept open: their inodes are in memory and marked S_SWAPFILE. While
 * there is swap, it may be on a loop device.
 */
static bool holds_swap_file(const struct biodelay_bdev *opened)
{
	struct super_block *sb = biodelay_super_get(opened->bdev);
	bool holds = false, may_swap = biodelay_may_swap();
	struct inode *inode;

	if (sb) {
		spin_lock(&sb->s_inode_list_lock);
		list_for_each_entry(inode, &sb->s_inodes, i_sb_list) {
			holds = IS_SWAPFILE(inode) ||
				(may_swap && backs_loop(inode));
			if (holds)
				break;
		}
		spin_unlock(&sb->s_inode_list_lock);
	}
	biodelay_super_put(opened->bdev);
	return holds;
}

/* If a device is part of a larger one, the swap may be on that. */
static bool may_be_swap(const struct biodelay_bdev *opened,
			const struct super_block *unused)
{
	return biodelay_is_swap(opened) || holds_swap_file(opened) ||
	       (biodelay_may_swap() && (backs_loop(opened->inode) ||
					is_part_of_more(opened, NULL)));
}

/* Also true if the device cannot be opened. */
static bool may_be(dev_t dev, bdev_test_t test, const struct super_block *sb)
{
	struct biodelay_bdev opened;
	bool is;

	if (biodelay_bdev_open(dev, &opened))
		return true;
	is = test(&opened, sb);
	biodelay_bdev_close(&opened);
	return is;
}

/* Whether @test holds, or may hold, for a disk or one of its partitions. */
static bool any_part(dev_t disk, bdev_test_t test, const struct super_block *sb)
{
	dev_t *parts = kmalloc_array(DISK_MAX_PARTS, sizeof(*parts),
				     GFP_KERNEL);
	struct biodelay_bdev opened;
	bool any = true;
	int count;

	if (!parts || biodelay_bdev_open(disk, &opened))
		goto free;
	count = biodelay_parts(opened.bdev->bd_disk, parts, DISK_MAX_PARTS);
	biodelay_bdev_close(&opened);
	any = count < 0;
	while (!any && count--)
		any = may_be(parts[count], test, sb);
free:
	kfree(parts);
	return any;
}

static bool has_no_disk(const struct super_block *sb)
{
	switch (sb->s_magic) {
	case NFS_SUPER_MAGIC:
	case OVERLAYFS_SUPER_MAGIC:
	case RAMFS_MAGIC:
	case TMPFS_MAGIC:
	case V9FS_MAGIC:
		return true;
	default:
		return false;
	}
}

/* Whether a disk is open besides here: mounted, claimed, or read by a program. */
static bool is_in_use(const struct biodelay_bdev *opened,
		      const struct super_block *unused)
{
	return biodelay_openers(opened->bdev) > 1;
}

/*
 * Whether it is unknown what a file system is on: on a file of another one (erofs),
 * on what a program serves (fuse), on a disk that no hardware is the parent of, such as
 * a loop device or nbd. btrfs has no s_bdev either, but claims its disks.
 */
static bool lies_on_anything(const struct super_block *sb)
{
	const struct block_device *bdev = sb->s_bdev;

	if (!bdev)
		return sb->s_magic != BTRFS_SUPER_MAGIC;
	return !biodelay_is_stacked(bdev->bd_disk) &&
	       !disk_to_dev(bdev->bd_disk)->parent;
}

/*
 * Whether a file is, or may be, on a disk. btrfs, and a stacked device (device-mapper,
 * md), may use any disk that is part of a larger device.
 */
static bool may_lie_on(const struct path *path, dev_t disk)
{
	struct dentry *dentry = path->dentry;
	struct inode *inode = d_is_reg(dentry) ? d_real_inode(dentry)
					       : d_inode(dentry);
	const struct super_block *sb = inode->i_sb;
	struct block_device *bdev = sb->s_bdev;

	if (has_no_disk(sb))
		return false;
	if (bdev && disk_devt(bdev->bd_disk) == disk)
		return true;
	if (lies_on_anything(sb))
		return may_be(disk, is_in_use, NULL);
	if (!bdev || biodelay_is_stacked(bdev->bd_disk))
		return any_part(disk, is_part_of_more, NULL);
	return any_part(disk, is_claimed_for, sb);
}

static bool get_exe(struct task_struct *task, struct path *path)
{
	struct file *exe = NULL;

	task_lock(task);
	if (task->mm)
		exe = biodelay_exe_file(task->mm);
	task_unlock(task);
	if (!exe)
		return false;
	*path = exe->f_path;
	path_get(path);
	fput(exe);
	return true;
}

static bool get_root(struct task_struct *task, struct path *path)
{
	bool found;

	task_lock(task);
	found = task->fs;
	if (found)
		get_fs_root(task->fs, path);
	task_unlock(task);
	return found;
}

/*
 * Check both a task's root directory and its program: the root of a live system is
 * an overlay without a disk, but the real file of the program is on one.
 */
static bool lives_on(struct task_struct *task, dev_t disk)
{
	bool (*const get[])(struct task_struct *, struct path *) = {
		get_root, get_exe
	};
	struct path path;
	bool lives = false;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(get); i++) {
		if (!get[i](task, &path))
			continue;
		lives |= may_lie_on(&path, disk);
		path_put(&path);
	}
	return lives;
}

static bool is_root_disk(dev_t disk)
{
	struct task_struct *init;
	bool is = lives_on(current, disk);

	init = get_pid_task(find_vpid(1), PIDTYPE_PID);
	if (init) {
		is |= lives_on(init, disk);
		put_task_struct(init);
	}
	return is;
}

struct module_files {
	struct path path[8];
	unsigned int count;
};

/* Runs under the file table's lock; resolving an overlay's real file may sleep. */
static int collect_module_file(const void *data, struct file *file,
			       unsigned int fd)
{
	struct module_files *files = (struct module_files *)data;
	struct dentry *dentry = file->f_path.dentry;

	if (d_is_reg(dentry) && strstr(dentry->d_name.name, ".ko") &&
	    files->count < ARRAY_SIZE(files->path)) {
		files->path[files->count] = file->f_path;
		path_get(&files->path[files->count++]);
	}
	return 0;
}

/* insmod has the module's file open while it is being loaded. */
static bool is_module_disk(dev_t disk)
{
	struct module_files files = { };
	bool is = false;

	iterate_fd(current->files, 0, collect_module_file, &files);
	if (files.count == ARRAY_SIZE(files.path)) /* there may be more */
		is = true;
	while (files.count--) {
		is |= may_lie_on(&files.path[files.count], disk);
		path_put(&files.path[files.count]);
	}
	return is;
}

static bool has_swap(dev_t disk)
{
	return any_part(disk, may_be_swap, NULL);
}

static bool is_there(const struct biodelay_bdev *opened,
		     const struct super_block *unused)
{
	return false;
}

static bool cannot_be_opened(dev_t disk)
{
	return may_be(disk, is_there, NULL);
}

static bool is_replaced(const struct biodelay_device *device)
{
	struct biodelay_bdev opened;
	bool is;

	if (biodelay_bdev_open(device->disk, &opened))
		return false; /* gone, perhaps to come back */
	is = biodelay_disk_id(opened.bdev->bd_disk) != device->id;
	biodelay_bdev_close(&opened);
	return is;
}

/**
 * biodelay_guard_machine() - refuse to run on bare metal
 * @allow_bare_metal: do not refuse
 *
 * Return: 0 or -EACCES.
 */
int biodelay_guard_machine(bool allow_bare_metal)
{
	if (allow_bare_metal || biodelay_is_guest())
		return 0;
	pr_err("not a virtual machine: refused; set allow_bare_metal=1 to override\n");
	return -EACCES;
}

/**
 * biodelay_guard_device() - refuse the disks that the machine depends on
 * @device: the rule's device
 * @force: its name again, to override; or NULL
 *
 * Context: may sleep; in the task that loads the module or arms the rule.
 * Return: 0; -ESTALE if the disk was removed and another one has its number;
 * -ENODEV for a disk that cannot be opened, -EPERM for the disk of
 * the root file system, -EBUSY for the one the module is loaded from, -ETXTBSY
 * for one with active swap; also if any of these cannot be ruled out.
 */
int biodelay_guard_device(const struct biodelay_device *device,
			  const char *force)
{
	const struct {
		bool (*is)(dev_t disk);
		int err;
		const char *what;
	} guards[] = {
		{ cannot_be_opened, -ENODEV, "cannot be opened" },
		{ is_root_disk, -EPERM, "has, or may have, the root file system" },
		{ is_module_disk, -EBUSY, "has, or may have, this module's file" },
		{ has_swap, -ETXTBSY, "has, or may have, active swap" },
	};
	size_t i;

	if (is_replaced(device)) {
		pr_err("device %s: its number is that of another disk now: write device again\n",
		       device->name);
		return -ESTALE;
	}
	if (force && !strcmp(force, device->name))
		return 0;
	for (i = 0; i < ARRAY_SIZE(guards); i++) {
		if (!guards[i].is(device->disk))
			continue;
		pr_err("device %s %s: refused; set force=%s to override\n",
		       device->name, guards[i].what, device->name);
		return guards[i].err;
	}
	return 0;
}
