// SPDX-License-Identifier: GPL-2.0-only
// paths.c: shorten paths to folder and name, and find what --path and --device mean

#include "paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "log.h"

/* dev_t inside the kernel: 12 bits major, 20 bits minor (linux/kdev_t.h). */
static uint32_t kernel_device(unsigned int major, unsigned int minor)
{
	return major << 20 | minor;
}

const char *path_of(const char *folder, const char *name, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "%s/%s", folder, name);
	return path;
}

const char *absolute_path(const char *given, const char *folder, char path[PATH_BYTES])
{
	char text[NAME_BYTES], *rest = text, *word;
	const char *last = NULL, *before = NULL;

	if (strlen(given) >= NAME_BYTES - 1)
		return NULL;
	strcpy(text, given);
	while ((word = strsep(&rest, "/"))) {
		if (*word) {
			before = last;
			last = word;
		}
	}
	if (!last)
		return NULL;
	if (!before)
		before = *given == '/' ? "" : folder;
	return path_of(before, last, path);
}

uint32_t device_given(const char *text)
{
	unsigned int major_number, minor_number;
	struct stat status;
	int end = 0;

	if (sscanf(text, "%u:%u%n", &major_number, &minor_number, &end) == 2 &&
	    !text[end])
		return kernel_device(major_number, minor_number);
	if (stat(text, &status))
		die(EXIT_FAILED, "--device %s: %s", text, strerror(errno));
	if (!S_ISBLK(status.st_mode))
		die(EXIT_FAILED, "--device %s: no block device; give one, or MAJ:MIN", text);
	return kernel_device(major(status.st_rdev), minor(status.st_rdev));
}

/* By the id of the mount: st_dev of a file on btrfs is not that device. */
static uint32_t device_of_mount(const char *path, uint64_t id)
{
	FILE *file = fopen("/proc/self/mountinfo", "re");
	unsigned int major_number, minor_number;
	unsigned long long number;
	uint32_t found = 0;

	if (!file)
		die(EXIT_FAILED, "/proc/self/mountinfo: %s", strerror(errno));
	while (fscanf(file, "%llu %*u %u:%u%*[^\n]", &number, &major_number,
		      &minor_number) == 3) {
		if (number == id)
			found = kernel_device(major_number, minor_number);
	}
	fclose(file);
	if (!found)
		die(EXIT_FAILED, "--path %s: no file system is mounted there", path);
	return found;
}

uint64_t inode_given(const char *path, uint32_t *device)
{
	unsigned int wants = STATX_INO | STATX_MNT_ID;
	struct statx status;
	uint32_t on;

	if (statx(AT_FDCWD, path, 0, wants, &status))
		die(EXIT_FAILED, "--path %s: %s", path, strerror(errno));
	on = device_of_mount(path, status.stx_mnt_id);
	if (*device && *device != on)
		die(EXIT_FAILED, "--path %s is not on --device", path);
	*device = on;
	return status.stx_ino;
}
