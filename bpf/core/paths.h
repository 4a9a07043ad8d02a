/* SPDX-License-Identifier: GPL-2.0-only */
/* paths.h: shorten paths to folder and name, and find what --path and --device mean */
#ifndef PATHS_H
#define PATHS_H

#include <stdint.h>

#include "rows.h"

#define PATH_BYTES (FOLDER_BYTES + NAME_BYTES + 1)

/* `folder/name` */
const char *path_of(const char *folder, const char *name, char path[PATH_BYTES]);

/*
 * Folder and name of a path from a caller's memory; `folder` is the one that a relative
 * path begins in. NULL where it was cut off.
 */
const char *absolute_path(const char *given, const char *folder, char path[PATH_BYTES]);

/* A device, `254:16` or a file of it, as the kernel's dev_t; exits where there is none. */
uint32_t device_given(const char *text);

/* The inode of a path, and the device of the file system that it is on. */
uint64_t inode_given(const char *path, uint32_t *device);

#endif
