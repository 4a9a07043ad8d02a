// SPDX-License-Identifier: GPL-2.0-only
/*
 * storms.c: make calls on files that other threads close, replace and unlink meanwhile
 *
 * storms FOLDER FILE: until it is killed. Calls on a few descriptors sleep in FOLDER; other
 * threads put other files there, also FILE, which is read only. Errors do not matter.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST 100		/* descriptors that are shared */
#define SHARED 4
#define BYTES 200
#define NAMES 16

static const char *folder, *other;
static char data[BYTES];

static int slot(unsigned int *seed)
{
	return FIRST + rand_r(seed) % SHARED;
}

static char *name(char *to, size_t size, unsigned int *seed)
{
	snprintf(to, size, "%s/storm%d", folder, rand_r(seed) % NAMES);
	return to;
}

static int opened(unsigned int *seed, int flags)
{
	char path[256];

	return open(name(path, sizeof(path), seed), O_RDWR | O_CREAT | flags, 0600);
}

static void write_and_sync(unsigned int *seed)
{
	int fd = slot(seed);

	if (write(fd, data, BYTES) == BYTES && rand_r(seed) % 2)
		fsync(fd);
}

static void replace(unsigned int *seed)
{
	int fd = rand_r(seed) % 4 ? opened(seed, O_DSYNC) : open(other, O_RDONLY);

	dup2(fd, slot(seed));
	close(fd);
}

static void read_other(unsigned int *seed)
{
	int fd = open(other, O_RDONLY);

	if (pread(fd, (char[BYTES]){}, BYTES, rand_r(seed) % BYTES) > 0)
		close(rand_r(seed) % 4 ? fd : slot(seed));
	close(fd);
}

/* The last close of a file that was truncated and written allocates its blocks. */
static void write_and_close(unsigned int *seed)
{
	int fd = opened(seed, O_TRUNC);

	if (!ftruncate(fd, BYTES) && !ftruncate(fd, 0) && write(fd, data, BYTES) < 0)
		usleep(1);
	close(fd);
}

static void unlink_and_rename(unsigned int *seed)
{
	char one[256], two[256];

	rename(name(one, sizeof(one), seed), name(two, sizeof(two), seed));
	unlink(name(one, sizeof(one), seed));
	snprintf(two, sizeof(two), "%s/below", folder);
	mkdir(two, 0700);
	rmdir(two);
}

static void map_and_sync(unsigned int *seed)
{
	int fd = opened(seed, 0);
	char *map = MAP_FAILED;

	if (!ftruncate(fd, BYTES))
		map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return;
	msync(map, BYTES, MS_SYNC);
	munmap(map, BYTES);
}

static void (*const storms[])(unsigned int *) = {
	write_and_sync, write_and_sync, replace, replace, read_other,
	write_and_close, write_and_close, unlink_and_rename, map_and_sync,
};

#define STORMS (sizeof(storms) / sizeof(*storms))

static void *rage(void *which)
{
	unsigned int seed = (size_t)which + 1;

	for (;;)
		storms[(size_t)which](&seed);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	size_t i;

	if (argc != 3) {
		fprintf(stderr, "usage: storms FOLDER FILE\n");
		return 2;
	}
	folder = argv[1];
	other = argv[2];
	memset(data, 'x', BYTES);
	for (i = 0; i < STORMS; i++) {
		if (pthread_create(&thread, NULL, rage, (void *)i)) {
			fprintf(stderr, "storms: no thread\n");
			return 1;
		}
	}
	pause();
	return 0;
}
