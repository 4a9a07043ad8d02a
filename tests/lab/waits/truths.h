/* SPDX-License-Identifier: GPL-2.0-only */
/* truths.h: what truths.py is to programs in C; included once in each */
#ifndef TRUTHS_H
#define TRUTHS_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MOST_CALLS 10000
#define ENTRY "an entry of the log\n"
#define LINE                                                             \
	"{\"what\": \"PUT\", \"t_ns\": %ld, \"dur_ns\": %ld, \"tid\": %d, " \
	"\"disk_ns\": %ld, \"calls_ns\": %ld}\n"

/* When write(2) began, when fsync(2) after it began, and when that ended. */
struct call {
	long start_ns, written_ns, end_ns;
};

static inline long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* When no more requests are to begin. */
static inline long ends_ns(void)
{
	return now_ns() + (long)((atof(getenv("DURATION_S")) - 3) * 1e9);
}

static inline struct call synced(int log)
{
	struct call call = { .start_ns = now_ns() };

	if (write(log, ENTRY, sizeof(ENTRY) - 1) < 0)
		exit(1);
	call.written_ns = now_ns();
	if (fsync(log))
		exit(1);
	call.end_ns = now_ns();
	return call;
}

static inline int opened(const char *name)
{
	return open(name, O_WRONLY | O_CREAT | O_APPEND, 0644);
}

static inline FILE *requests(void)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/requests.jsonl", getenv("OUT"));
	return fopen(path, "w");
}

static inline long common_ns(long start_ns, long end_ns, long since_ns, long until_ns)
{
	long first_ns = since_ns > start_ns ? since_ns : start_ns;
	long last_ns = until_ns < end_ns ? until_ns : end_ns;

	return last_ns > first_ns ? last_ns - first_ns : 0;
}

/* Write a request of the calling thread that began then, and ends now. */
static inline void ended(FILE *file, long start_ns, const struct call *calls, long count)
{
	long end_ns = now_ns(), disk_ns = 0, calls_ns = 0;

	for (long i = 0; i < count; i++) {
		const struct call *call = &calls[i];

		disk_ns += common_ns(start_ns, end_ns, call->written_ns, call->end_ns);
		calls_ns += common_ns(start_ns, end_ns, call->start_ns, call->end_ns);
	}
	fprintf(file, LINE, start_ns, end_ns - start_ns, gettid(), disk_ns, calls_ns);
}

#endif
