// SPDX-License-Identifier: GPL-2.0-only
// latwriter.c: a schedule of intended writes to the latency of each of them

/*
 * Open loop: the schedule does not wait for the file. A write that ends late
 * makes the next ones start late, and their latency counts from when they were
 * wanted, so that one stall shows in every write it held up.
 *
 * All memory is taken and locked before the first write; the measured loop
 * sleeps, writes and fills one preallocated sample per write. Logs come after.
 */

#include "latwriter.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
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

static atomic_int stop_signal;

noreturn void die(int status, const char *format, ...)
{
	va_list arguments;

	fputs("latwriter: ", stderr);
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

static int64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* splitmix64: a small generator whose every seed is as good as another */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static void on_signal(int number)
{
	stop_signal = number;
}

/* Sleeps in slices, so that a stop is noticed; false when it was. */
static bool sleep_until(int64_t wanted_ns)
{
	int64_t at_ns;

	while (!stop_signal) {
		at_ns = now_ns();
		if (at_ns >= wanted_ns)
			return true;
		at_ns += STOP_LATENCY_NS;
		if (at_ns > wanted_ns)
			at_ns = wanted_ns;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME,
				&(struct timespec){
					.tv_sec = at_ns / NSEC_PER_SEC,
					.tv_nsec = at_ns % NSEC_PER_SEC,
				}, NULL);
	}
	return false;
}

static int32_t result(int64_t returned)
{
	return returned < 0 ? -errno : returned;
}

static void timed_write(struct writer *writer, struct sample *sample)
{
	const struct options *options = writer->options;

	sample->start_ns = now_ns();
	if (options->region_bytes)
		sample->ret = result(pwrite(writer->fd, writer->data,
					    options->bytes, sample->offset));
	else
		sample->ret = result(write(writer->fd, writer->data,
					   options->bytes));
	sample->write_ns = now_ns() - sample->start_ns;
	if (!options->region_bytes && write_is_notable(options, sample))
		sample->offset = lseek(writer->fd, 0, SEEK_CUR) -
				 (sample->ret > 0 ? sample->ret : 0);
}

static void timed_fsync(struct writer *writer, struct sample *sample)
{
	int64_t start_ns = now_ns();

	sample->fsync_ret = result(fsync(writer->fd));
	sample->fsync_ns = now_ns() - start_ns;
}

static void count_missed(struct writer *writer)
{
	int64_t wanted;

	writer->stopped_ns = now_ns();
	wanted = (writer->stopped_ns - writer->first_ns +
		  writer->options->interval_ns - 1) /
		 writer->options->interval_ns;
	if (wanted > writer->planned)
		wanted = writer->planned;
	if (wanted > writer->begun)
		writer->missed = wanted - writer->begun;
}

/* Ends at the first error: what came after would measure the error's path. */
static void *write_on_schedule(void *argument)
{
	struct writer *writer = argument;
	const struct options *options = writer->options;
	uint64_t random = options->seed + writer->index;
	int64_t slots = options->region_bytes / options->bytes;

	writer->tid = gettid();
	for (int64_t seq = 0; seq < writer->planned; seq++) {
		struct sample *sample = &writer->samples[seq];

		if (slots)
			sample->offset = next_random(&random) % slots *
					 options->bytes;
		if (!sleep_until(intended_ns(writer, seq)) ||
		    now_ns() >= writer->end_ns)
			break;
		timed_write(writer, sample);
		writer->begun = seq + 1;
		if (options->fsync_every && sample->ret >= 0 &&
		    (seq + 1) % options->fsync_every == 0)
			timed_fsync(writer, sample);
		if (sample->ret < 0 || sample->fsync_ret < 0)
			break;
	}
	count_missed(writer);
	return NULL;
}

static char *file_name(const struct options *options, int64_t index)
{
	struct stat status;
	bool directory = !stat(options->path, &status) &&
			 S_ISDIR(status.st_mode);
	bool one = options->writers == 1 || options->shared_file;
	char *name;
	int length;

	if (directory)
		length = asprintf(&name, "%s/writer-%" PRId64 ".log",
				  options->path, one ? 0 : index);
	else if (one)
		length = asprintf(&name, "%s", options->path);
	else
		length = asprintf(&name, "%s.%" PRId64, options->path, index);
	if (length < 0)
		die(EXIT_WRITES_FAILED, "%s: %s", options->path,
		    strerror(ENOMEM));
	return name;
}

/* Parent folder and name, as a tracer prints the file. */
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

static void open_file(struct writer *writer)
{
	const struct options *options = writer->options;
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC;

	if (!options->region_bytes)
		flags |= O_APPEND;
	if (!options->shared_file || writer->index == 0)
		flags |= O_EXCL;
	writer->path = file_name(options, writer->index);
	writer->fd = open(writer->path, flags, 0644);
	if (writer->fd < 0)
		die(errno == EEXIST ? EXIT_USAGE : EXIT_WRITES_FAILED,
		    "%s: %s%s", writer->path, strerror(errno),
		    errno == EEXIST ? "; name a new one" : "");
	writer->short_path = short_path(writer->path);
}

static void prepare(struct writer *writer, const struct options *options,
		    int64_t index, const unsigned char *data)
{
	int64_t interval_ns = options->interval_ns;

	*writer = (struct writer){
		.options = options,
		.data = data,
		.index = index,
		.planned = (options->duration_ns + interval_ns - 1) /
			   interval_ns,
	};
	writer->samples = calloc(writer->planned, sizeof(*writer->samples));
	if (!writer->samples)
		die(EXIT_WRITES_FAILED, "memory for %" PRId64 " writes: %s; "
		    "shorten --duration-s", writer->planned,
		    strerror(errno));
	open_file(writer);
}

static unsigned char *make_data(const struct options *options)
{
	unsigned char *data = malloc(options->bytes);
	uint64_t random = options->seed;

	if (!data)
		die(EXIT_WRITES_FAILED, "memory: %s", strerror(errno));
	for (int64_t i = 0; i < options->bytes; i++)
		data[i] = ' ' + next_random(&random) % 95;
	data[options->bytes - 1] = '\n';
	return data;
}

static void lock_memory(const struct options *options)
{
	int64_t planned = options->writers *
			  (options->duration_ns / options->interval_ns + 1);
	int64_t pages = sysconf(_SC_PHYS_PAGES) / 2;

	if (planned * (int64_t)sizeof(struct sample) /
	    sysconf(_SC_PAGESIZE) > pages)
		die(EXIT_USAGE, "%" PRId64 " writes would fill over half of "
		    "memory with samples; shorten --duration-s", planned);
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		fprintf(stderr, "latwriter: memory not locked (%s): page "
			"faults may show as latency\n", strerror(errno));
}

/* Signals reach the main thread alone, which only waits: no EINTR in write. */
static void block_signals(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	pthread_sigmask(how, &set, NULL);
}

static void run_writers(struct writer *writers, const struct options *options,
			int64_t start_ns)
{
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	for (int64_t i = 0; i < options->writers; i++) {
		int error;

		writers[i].first_ns = start_ns +
			i * options->interval_ns / options->writers;
		writers[i].end_ns = start_ns + options->duration_ns;
		error = pthread_create(&writers[i].thread, &attributes,
				       write_on_schedule, &writers[i]);
		if (error)
			die(EXIT_WRITES_FAILED, "thread %" PRId64 ": %s", i,
			    strerror(error));
	}
	block_signals(SIG_UNBLOCK);
	for (int64_t i = 0; i < options->writers; i++)
		pthread_join(writers[i].thread, NULL);
	pthread_attr_destroy(&attributes);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct options options;
	struct writer *writers;
	struct totals totals;
	unsigned char *data;
	int64_t start_ns, start_realtime_ns;

	parse_options(argc, argv, &options);
	block_signals(SIG_BLOCK);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
	prctl(PR_SET_TIMERSLACK, 1UL);	/* threads inherit it */
	lock_memory(&options);
	data = make_data(&options);
	writers = calloc(options.writers, sizeof(*writers));
	if (!writers)
		die(EXIT_WRITES_FAILED, "memory: %s", strerror(errno));
	for (int64_t i = 0; i < options.writers; i++)
		prepare(&writers[i], &options, i, data);

	start_ns = now_ns() + START_DELAY_NS;
	start_realtime_ns = clock_ns(CLOCK_REALTIME) + START_DELAY_NS;
	run_writers(writers, &options, start_ns);

	totals = add_up(writers, &options);
	write_histogram_logs(&options, writers, start_ns, start_realtime_ns);
	write_slow_log(&options, writers, start_ns, &totals);
	return report(writers, &options, &totals, stop_signal);
}
