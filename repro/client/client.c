// SPDX-License-Identifier: GPL-2.0-only
// client.c: messages, clocks, signals and schedules of the workload programs

#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STOP_LATENCY_NS (100 * 1000 * NSEC_PER_USEC)
#define START_DELAY_NS (20 * 1000 * NSEC_PER_USEC)
#define STACK_BYTES (256 * 1024)
#define BY_ITSELF (-1)

static atomic_int stop_reason;	/* a signal's number, or BY_ITSELF */

noreturn void die(int status, const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "%s: ", program_name);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(status);
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * NSEC_PER_SEC + now.tv_nsec;
}

int64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

int32_t result(int64_t returned)
{
	return returned < 0 ? -errno : returned;
}

uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

int64_t planned(int64_t duration_ns, int64_t interval_ns)
{
	return (duration_ns + interval_ns - 1) / interval_ns;
}

struct schedule make_schedule(int64_t duration_ns, int64_t interval_ns)
{
	return (struct schedule){
		.interval_ns = interval_ns,
		.planned = planned(duration_ns, interval_ns),
	};
}

void start_schedule(struct schedule *schedule, const struct timing *timing,
		    int64_t late_ns)
{
	schedule->first_ns = timing->start_ns + late_ns;
	schedule->end_ns = timing->start_ns + timing->duration_ns;
}

struct timespec next_look(int64_t wanted_ns)
{
	int64_t at_ns = now_ns() + STOP_LATENCY_NS;

	if (at_ns > wanted_ns)
		at_ns = wanted_ns;
	return (struct timespec){
		.tv_sec = at_ns / NSEC_PER_SEC,
		.tv_nsec = at_ns % NSEC_PER_SEC,
	};
}

bool is_over(const struct schedule *schedule)
{
	return stop_reason || now_ns() >= schedule->end_ns;
}

bool wait_until(int64_t wanted_ns)
{
	while (!stop_reason && now_ns() < wanted_ns) {
		struct timespec until = next_look(wanted_ns);

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
	return !stop_reason;
}

bool wait_for(const struct schedule *schedule, int64_t seq)
{
	return wait_until(intended_ns(schedule, seq)) && !is_over(schedule);
}

void end_schedule(struct schedule *schedule)
{
	int64_t wanted;

	schedule->stopped_ns = now_ns();
	wanted = planned(schedule->stopped_ns - schedule->first_ns,
			 schedule->interval_ns);
	if (wanted > schedule->planned)
		wanted = schedule->planned;
	if (wanted > schedule->begun)
		schedule->missed = wanted - schedule->begun;
}

void stop_all(void)
{
	int none = 0;

	atomic_compare_exchange_strong(&stop_reason, &none, BY_ITSELF);
}

int stop_signal(void)
{
	return stop_reason == BY_ITSELF ? 0 : stop_reason;
}

static void on_signal(int number)
{
	stop_reason = number;
}

static void block_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(how, &set, NULL);
}

void hold_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	block_signals(SIG_BLOCK);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	prctl(PR_SET_TIMERSLACK, 1UL);	/* threads inherit it */
}

void lock_memory(int64_t samples, size_t sample_bytes)
{
	int64_t pages = sysconf(_SC_PHYS_PAGES) / 2;

	if (samples * (int64_t)sample_bytes / sysconf(_SC_PAGESIZE) > pages)
		die(EXIT_USAGE, "%" PRId64 " writes would fill over half of "
		    "memory with samples; shorten --duration-s", samples);
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		fprintf(stderr, "%s: memory not locked (%s): page faults may "
			"show as latency\n", program_name, strerror(errno));
}

void *zeroed(int64_t count, size_t bytes, const char *what)
{
	void *memory = calloc(count, bytes);

	if (!memory)
		die(EXIT_WRITES_FAILED, "memory for %" PRId64 " %s: %s; "
		    "shorten --duration-s", count, what, strerror(errno));
	return memory;
}

unsigned char *make_data(const struct common *common)
{
	unsigned char *data = zeroed(common->bytes, 1, "bytes");
	uint64_t random = common->seed;

	for (int64_t i = 0; i < common->bytes; i++)
		data[i] = ' ' + next_random(&random) % 95;
	data[common->bytes - 1] = '\n';
	return data;
}

static char *short_path(const char *path)
{
	char *full = realpath(path, NULL);
	char *cut;

	if (!full)
		die(EXIT_WRITES_FAILED, "%s: %s", path, strerror(errno));
	cut = strrchr(full, '/');
	while (cut > full && cut[-1] != '/')
		cut--;
	return cut;
}

struct target open_target(char *path, int flags)
{
	struct stat status;
	int fd;

	if (!stat(path, &status) && S_ISFIFO(status.st_mode))
		flags &= ~O_EXCL;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
	if (fd < 0)
		die(errno == EEXIST ? EXIT_USAGE : EXIT_WRITES_FAILED,
		    "%s: %s%s", path, strerror(errno),
		    errno == EEXIST ? "; name a new one" : "");
	return (struct target){ path, short_path(path), fd, flags & O_APPEND };
}

/* The start offset of an append of `ret` bytes; call it right after the write. */
static int64_t appended_at(int fd, int32_t ret)
{
	int64_t at = lseek(fd, 0, SEEK_CUR);	/* a pipe has none */

	return at < 0 ? 0 : at - (ret > 0 ? ret : 0);
}

void timed_write(const struct target *target, const struct common *common,
		 const unsigned char *data, struct written *written)
{
	written->start_ns = now_ns();
	written->ret = result(target->appends ?
			      write(target->fd, data, common->bytes) :
			      pwrite(target->fd, data, common->bytes,
				     written->offset));
	written->dur_ns = now_ns() - written->start_ns;
	if (target->appends && is_notable(common, written))
		written->offset = appended_at(target->fd, written->ret);
}

char *join(const char *format, ...)
{
	va_list arguments;
	char *text;
	int length;

	va_start(arguments, format);
	length = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (length < 0)
		die(EXIT_WRITES_FAILED, "memory: %s", strerror(ENOMEM));
	return text;
}

struct timing start_soon(int64_t duration_ns)
{
	return (struct timing){
		.start_ns = now_ns() + START_DELAY_NS,
		.start_realtime_ns = clock_ns(CLOCK_REALTIME) + START_DELAY_NS,
		.duration_ns = duration_ns,
	};
}

pthread_t start_thread(void *(*body)(void *), void *argument)
{
	pthread_attr_t attributes;
	pthread_t thread;
	int error;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	error = pthread_create(&thread, &attributes, body, argument);
	if (error)
		die(EXIT_WRITES_FAILED, "a thread: %s", strerror(error));
	pthread_attr_destroy(&attributes);
	return thread;
}

void join_threads(const pthread_t *threads, int64_t count)
{
	block_signals(SIG_UNBLOCK);
	for (int64_t i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
}
