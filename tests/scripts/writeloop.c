// SPDX-License-Identifier: GPL-2.0-only
/* writeloop.c: a file into the nanoseconds that so many 200-byte writes take */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define BYTES 200

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

int main(int argc, char **argv)
{
	static char data[BYTES];
	long long begun_ns, now, end_ns;
	long i, writes;
	int fd;

	if (argc != 4) {
		fprintf(stderr, "usage: writeloop FILE MILLISECONDS WRITES\n");
		return 2;
	}
	writes = atol(argv[3]);
	fd = open(argv[1], O_WRONLY | O_CREAT, 0600);
	if (fd < 0) {
		perror(argv[1]);
		return 1;
	}
	end_ns = now_ns() + atol(argv[2]) * 1000000LL;
	do {
		lseek(fd, 0, SEEK_SET);	/* over and over: no allocation */
		begun_ns = now_ns();
		for (i = 0; i < writes; i++) {
			if (write(fd, data, BYTES) != BYTES) {
				perror("write");
				return 1;
			}
		}
		now = now_ns();
		printf("%lld\n", now - begun_ns);
	} while (now < end_ns);
	return 0;
}
