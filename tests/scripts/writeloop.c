// SPDX-License-Identifier: GPL-2.0-only
/* writeloop.c: print how many ns so many writes take: 200 bytes each to a file; to a
 * block device 4 KiB past the page cache, a bio each
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BYTES 200
#define DIRECT_BYTES 4096

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char **argv)
{
	static char data[DIRECT_BYTES] __attribute__((aligned(DIRECT_BYTES)));
	long long begun_ns, now, end_ns;
	long i, writes, bytes = BYTES;
	struct stat is;
	int fd, flags = 0;

	if (argc != 4) {
		fprintf(stderr, "usage: writeloop FILE MILLISECONDS WRITES\n");
		return 2;
	}
	writes = atol(argv[3]);
	if (!stat(argv[1], &is) && S_ISBLK(is.st_mode)) {
		bytes = DIRECT_BYTES;
		flags = O_DIRECT;
	}
	fd = open(argv[1], O_WRONLY | O_CREAT | flags, 0600);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	end_ns = now_ns() + atol(argv[2]) * 1000000LL;
	do {
		lseek(fd, 0, SEEK_SET);	/* over and over: no allocation */
		begun_ns = now_ns();
		for (i = 0; i < writes; i++) {
			if (write(fd, data, bytes) != bytes) {
				perror("write");
				return 1;
			}
		}
		now = now_ns();
		printf("%lld\n", now - begun_ns);
	} while (now < end_ns);
	return 0;
}
