// SPDX-License-Identifier: GPL-2.0-only
/* guard.c: refuse disks that the machine needs, and physical machines */
#include <linux/blkdev.h>
#include <linux/dcache.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <linux/mm_types.h>
#include <linux/pid.h>
#include <linux/slab.h>
#include "biodelay.h"

typedef bool (*bdev_test_t)(const struct biodelay_bdev *opened);

static bool is_claimed(const struct biodelay_bdev *opened)
{
	return biodelay_is_claimed(opened->bdev);
}

/*
 * Whether a device is claimed by something other than a file system on it: by
 * device-mapper, md or a multi-device file system (btrfs).
 */
static bool is_part_of_more(const struct biodelay_bdev *opened)
{
	struct super_block *sb = biodelay_super_get(opened->bdev);
	bool alone = sb && sb->s_bdev == opened->bdev;

	biodelay_super_put(opened->bdev);
	return !alone && is_claimed(opened);
}

/* Swap files are kept open: their inodes are in memory and marked S_SWAPFILE. */
static bool holds_swap_file(const struct biodelay_bdev *opened)
{
	struct super_block *sb = biodelay_super_get(opened->bdev);
	struct inode *inode;
	bool holds = false;

	if (sb) {
		spin_lock(&sb->s_inode_list_lock);
		list_for_each_entry(inode, &sb->s_inodes, i_sb_list) {
			holds = IS_SWAPFILE(inode);
			if (holds)
				break;
		}
		spin_unlock(&sb->s_inode_list_lock);
	}
	biodelay_super_put(opened->bdev);
	return holds;
}

/* If a device is part of a larger one, the swap may be on that. */
static bool may_be_swap(const struct biodelay_bdev *opened)
{
	return biodelay_is_swap(opened) || holds_swap_file(opened) ||
	       (biodelay_may_swap() && is_part_of_more(opened));
}

/* Also true if the device cannot be opened. */
static bool may_be(dev_t dev, bdev_test_t test)
{
	struct biodelay_bdev opened;
	bool is;

	if (biodelay_bdev_open(dev, &opened))
		return true;
	is = test(&opened);
	biodelay_bdev_close(&opened);
	return is;
}

/* Whether @test holds, or may hold, for a disk or one of its partitions. */
static bool any_part(dev_t disk, bdev_test_t test)
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
		any = may_be(parts[count], test);
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

/*
 * Whether a file is, or may be, on a disk. A multi-device file system has no
 * s_bdev; it, and a stacked device (device-mapper, md), may use any disk that is
 * part of a larger device, and a loop device any disk that is in use.
 */
static bool may_lie_on(const struct path *path, dev_t disk)
{
	struct dentry *dentry = path->dentry;
	struct inode *inode = d_is_reg(dentry) ? d_real_inode(dentry)
					       : d_inode(dentry);
	struct block_device *bdev = inode->i_sb->s_bdev;

	if (has_no_disk(inode->i_sb))
		return false;
	if (bdev && disk_devt(bdev->bd_disk) == disk)
		return true;
	if (!bdev || biodelay_is_stacked(bdev->bd_disk))
		return any_part(disk, is_part_of_more);
	if (MAJOR(bdev->bd_dev) == LOOP_MAJOR)
		return any_part(disk, is_claimed);
	return false;
}

static bool get_exe(struct task_struct *task, struct path *path)
{
	struct file *exe = NULL;

	task_lock(task);
	rcu_read_lock();
	if (task->mm)
		exe = rcu_dereference(task->mm->exe_file);
	if (exe) {
		*path = exe->f_path;
		path_get(path);
	}
	rcu_read_unlock();
	task_unlock(task);
	return exe;
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
	return any_part(disk, may_be_swap);
}

static bool is_there(const struct biodelay_bdev *opened)
{
	return false;
}

static bool cannot_be_opened(dev_t disk)
{
	return may_be(disk, is_there);
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
 * Return: 0; -ENODEV for a disk that cannot be opened, -EPERM for the disk of
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
