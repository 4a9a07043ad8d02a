// SPDX-License-Identifier: GPL-2.0-only
// cgroup.c: find the cgroup of this process

#include "broker.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* cgroups(7): a line `0::PATH`. */
static bool read_path(char *path, int size)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	bool found = false;

	if (!file)
		return false;
	while (!found && fgets(path, size, file))
		found = !strncmp(path, "0::", 3);
	fclose(file);
	path[strcspn(path, "\n")] = '\0';
	return found;
}

uint64_t own_cgroup(void)
{
	static const char *const mounts[] = {
		"/sys/fs/cgroup/unified", "/sys/fs/cgroup",
	};
	char line[PATH_MAX], path[2 * PATH_MAX];
	struct stat status;
	size_t i;

	if (!read_path(line, sizeof(line)))
		return 0;
	for (i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", mounts[i], line + 3);
		if (!stat(path, &status))
			return status.st_ino;
	}
	return 0;
}
