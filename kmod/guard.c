// SPDX-License-Identifier: GPL-2.0-only
/* guard.c: a disk the machine lives on, or a real machine, to a refusal */
#include <linux/blkdev.h>
#include <linux/dcache.h>
#include <linux/fdtable.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/fs_struct.h>
#include <linux/mm_types.h>
#include <linux/pid.h>
#include "biodelay.h"

/*
 * Whether something other than a file system has claimed a device: a stacked
 * device, or what cannot be told from one.
 */
static bool is_claimed(dev_t dev)
{
	struct biodelay_look look;
	bool is;

	if (biodelay_look_at(dev, &look))
		return false;
	is = biodelay_has_foreign_holder(look.bdev);
	biodelay_look_away(&look);
	return is;
}

/* Swap keeps its files open: their inodes are in memory, with its mark. */
static bool holds_swap_file(struct block_device *bdev)
{
	struct super_block *sb = biodelay_super_get(bdev);
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
	biodelay_super_put(bdev);
	return holds;
}

static bool is_swap(dev_t dev)
{
	struct biodelay_look look;
	bool is;

	if (biodelay_look_at(dev, &look))
		return false;
	is = biodelay_is_swap(&look) || holds_swap_file(look.bdev);
	biodelay_look_away(&look);
	return is;
}

static dev_t disk_of(dev_t dev)
{
	struct biodelay_look look;
	dev_t disk;

	if (biodelay_look_at(dev, &look))
		return 0;
	disk = disk_devt(look.bdev->bd_disk);
	biodelay_look_away(&look);
	return disk;
}

/* Whether a disk or one of its partitions is so. */
static bool any_part(dev_t disk, bool (*is)(dev_t dev))
{
	struct biodelay_look look;
	bool any = false;
	dev_t part[64];
	int count;

	if (biodelay_look_at(disk, &look))
		return false;
	count = biodelay_parts(look.bdev->bd_disk, part, ARRAY_SIZE(part));
	biodelay_look_away(&look);
	while (count--)
		any |= is(part[count]);
	return any;
}

/*
 * Whether a file lies on a disk. Below a stacked device (device-mapper, md) it
 * may lie on any disk that something has claimed; which one, only that
 * something knows.
 */
static bool lies_on(const struct path *path, dev_t disk)
{
	struct dentry *dentry = path->dentry;
	struct inode *inode = d_is_reg(dentry) ? d_real_inode(dentry)
					       : d_inode(dentry);
	struct block_device *bdev = inode->i_sb->s_bdev;

	if (!bdev)
		return false;
	return disk_devt(bdev->bd_disk) == disk ||
	       (biodelay_is_stacked(bdev->bd_disk) &&
		any_part(disk, is_claimed));
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
 * Both a task's root directory and its program: the root of a live system is
 * an overlay, which has no disk, but the program's real file has.
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
		lives |= lies_on(&path, disk);
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

/* Runs under the file table's lock; looking below an overlay may sleep. */
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

/* While a module is loaded, insmod has its file open. */
static bool is_module_disk(dev_t disk)
{
	struct module_files files = { };
	bool is = false;

	iterate_fd(current->files, 0, collect_module_file, &files);
	while (files.count--) {
		is |= lies_on(&files.path[files.count], disk);
		path_put(&files.path[files.count]);
	}
	return is;
}

static bool has_swap(dev_t disk)
{
	return any_part(disk, is_swap);
}

/**
 * biodelay_guard_machine() - refuse to run on bare metal
 * @allow_bare_metal: do not
 *
 * Return: 0 or -EACCES.
 */
int biodelay_guard_machine(bool allow_bare_metal)
{
	if (allow_bare_metal || biodelay_is_guest())
		return 0;
	pr_err("this is no virtual machine: say allow_bare_metal=1 if its disks may be slowed\n");
	return -EACCES;
}

/**
 * biodelay_guard_device() - refuse the disks the machine lives on
 * @device: the rule's device
 * @force: its name again, when it is meant; or NULL
 *
 * Context: may sleep; in the task that loads the module or arms the rule.
 * Return: 0; -EPERM for the disk of the root file system, -EBUSY for the one
 * the module is loaded from, -ETXTBSY for one with active swap.
 */
int biodelay_guard_device(const struct biodelay_device *device,
			  const char *force)
{
	const struct {
		bool (*is)(dev_t disk);
		int err;
		const char *what;
	} guards[] = {
		{ is_root_disk, -EPERM, "is the root file system's disk" },
		{ is_module_disk, -EBUSY, "is the disk this module is on" },
		{ has_swap, -ETXTBSY, "has active swap" },
	};
	dev_t disk = disk_of(device->dev);
	size_t i;

	if (force && !strcmp(force, device->name))
		return 0;
	for (i = 0; i < ARRAY_SIZE(guards); i++) {
		if (!guards[i].is(disk))
			continue;
		pr_err("device %s %s: say force=%s if it shall be slowed\n",
		       device->name, guards[i].what, device->name);
		return guards[i].err;
	}
	return 0;
}
