/* SPDX-License-Identifier: GPL-2.0-only */
/* client.h: functions shared by the workload programs */
#ifndef CLIENT_H
#define CLIENT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <time.h>

#define NSEC_PER_USEC 1000LL
#define NSEC_PER_SEC 1000000000LL

enum exit_status {
	EXIT_OK = 0,
	EXIT_WRITES_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_BY_SIGNAL = 128,	/* plus the signal's number */
};

/* The program's name, for messages. */
extern const char program_name[];

/* Common options (options.h), the first member of each program's struct options. */
struct common {
	const char *path;
	const char *hlog;
	const char *hlog_service;
	const char *slow_log;
	int64_t bytes;
	int64_t duration_ns;
	int64_t slow_ns;
	int64_t seed;
};

/* The start of a run by both clocks, and its planned duration. */
struct timing {
	int64_t start_ns;
	int64_t start_realtime_ns;
	int64_t duration_ns;
};

/* Events due at fixed times, whether or not the previous ones have finished. */
struct schedule {
	int64_t first_ns;	/* intended start of number 0 */
	int64_t interval_ns;
	int64_t end_ns;		/* none starts later */
	int64_t stopped_ns;
	int64_t planned;
	int64_t begun;
	int64_t missed;		/* due before stopped_ns, never started */
};

/* A file that is written to. */
struct target {
	char *path;
	char *short_path;	/* as tracers print it: parent directory and name */
	int fd;
	bool appends;		/* else it is written at given offsets */
};

/* One write, as its thread measured it. */
struct written {
	int64_t start_ns;	/* CLOCK_MONOTONIC; 0: never started */
	int64_t dur_ns;
	int64_t offset;		/* of an append, known if slow, short or failed */
	int32_t ret;		/* bytes, or a negative errno */
};

static inline int64_t ended_ns(const struct written *written)
{
	return written->start_ns + written->dur_ns;
}

static inline int64_t intended_ns(const struct schedule *schedule, int64_t seq)
{
	return schedule->first_ns + seq * schedule->interval_ns;
}

noreturn void die(int status, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

int64_t now_ns(void);

/* A negative errno where a call returned -1. */
int32_t result(int64_t returned);

/* splitmix64: a small random number generator that accepts any seed */
uint64_t next_random(uint64_t *state);

/* The number of events in a run of this duration. */
int64_t planned(int64_t duration_ns, int64_t interval_ns);
struct schedule make_schedule(int64_t duration_ns, int64_t interval_ns);

/* Its first event is due `late_ns` after the start of the run. */
void start_schedule(struct schedule *schedule, const struct timing *timing,
		    int64_t late_ns);

/*
 * Waits until an event is due; false if a stop or the end of the schedule came
 * first. end_schedule() counts the events that were due by then and never started.
 */
bool wait_for(const struct schedule *schedule, int64_t seq);
bool is_over(const struct schedule *schedule);
void end_schedule(struct schedule *schedule);

/* Waits until a time; false if a stop came first. */
bool wait_until(int64_t wanted_ns);

/* The next wake-up while waiting for a time, early enough to notice a stop. */
struct timespec next_look(int64_t wanted_ns);

/* Threads end at their next wait; stop_signal() is 0 if no signal arrived. */
void stop_all(void);
int stop_signal(void);

/*
 * Only the main thread, which just waits, receives signals: no EINTR in write.
 * Call this before any thread is started; join_threads() unblocks them.
 */
void hold_signals(void);

/* Refuses a run whose samples do not fit into memory; locks all memory. */
void lock_memory(int64_t samples, size_t sample_bytes);
void *zeroed(int64_t count, size_t bytes, const char *what);

/* `bytes` of seeded text that end a line. */
unsigned char *make_data(const struct common *common);

/*
 * `flags` in addition to O_WRONLY | O_CREAT; O_EXCL protects data, so a pipe
 * ignores it. Dies if the file cannot be opened. The target keeps `path`.
 */
struct target open_target(char *path, int flags);

/* Slow, short or failed: its line and offset are recorded. */
static inline bool is_notable(const struct common *common,
			      const struct written *written)
{
	return written->dur_ns >= common->slow_ns ||
	       written->ret != common->bytes;
}

/* write(2) at the end of the target, or pwrite(2) to the offset that is set. */
void timed_write(const struct target *target, const struct common *common,
		 const unsigned char *data, struct written *written);

char *join(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A start in the near future, by which all threads are ready. */
struct timing start_soon(int64_t duration_ns);

pthread_t start_thread(void *(*body)(void *), void *argument);

/* Unblocks signals, then waits for all threads. */
void join_threads(const pthread_t *threads, int64_t count);

#endif
