// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c: print the events of a tracing script, without a compiler on the host
 *
 * The events are those of its namesake in stap/: docs/events.md.
 */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "arming.h"
#include "missed.h"
#include "output/events.h"
#include "output/journal_events.h"
#include "output/json.h"
#include "output/kept_calls.h"
#include "output/kernel_symbols.h"
#include "options.h"
#include "probes.skel.h"
#include "log.h"
#include "scripts.h"

#define PATIENCE_MS 1000	/* longest time between reports of losses */
#define SYMBOLS_LAST_NS 100000000
/* Rows that come meanwhile are printed at once: a wake-up costs more than a row. */
#define GATHERING_NS 10000000
#define SETTLED_NS 100000000	/* from the end of a window until no CPU still counts in it */

static volatile sig_atomic_t is_stopped;

static void stop(int number)
{
	(void)number;
	is_stopped = 1;
}

static void handle_signals(void)
{
	/* A write to a pipe that is full goes on; poll() does not (signal(7)). */
	struct sigaction action = { .sa_handler = stop, .sa_flags = SA_RESTART };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	signal(SIGPIPE, SIG_IGN);	/* the write fails, and says so */
}

/* The modules are looked at once in a while, for the frames of new ones. */
static void renew_symbols(void)
{
	static int64_t looked_ns;
	int64_t now_ns = monotonic_ns();

	if (now_ns - looked_ns >= SYMBOLS_LAST_NS)
		symbols_refresh();
	looked_ns = monotonic_ns();
}

/*
 * Until when rows are taken without a pause for the rest; all of them when it is disarmed.
 * More may come as fast as they are printed.
 */
static int64_t pause_ns;

static bool is_pause_due(void)
{
	return pause_ns != INT64_MAX && (is_stopped || monotonic_ns() >= pause_ns);
}

static int take_row(void *data, void *row, size_t size)
{
	const struct probes *probes = data;

	(void)size;
	renew_symbols();
	if (*(const unsigned int *)row == ROW_COMMIT)
		print_handles(bpf_map__fd(probes->maps.handles), row);
	print_row(row);
	return is_pause_due() ? -EINTR : 0;
}

static int take_call(void *data, void *row, size_t size)
{
	(void)data;
	(void)size;
	take_kept(row);
	return 0;
}

/* Notice a closed pipe even where there is nothing to write. */
static void check_reader(void)
{
	struct pollfd output = { .fd = STDOUT_FILENO };

	if (poll(&output, 1, 0) > 0 && (output.revents & POLLERR))
		die(EXIT_FAILED, "cannot write: nobody reads the output any more");
}

static void print_start(enum script script)
{
	struct timespec cpu;
	struct utsname kernel;

	uname(&kernel);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	log_message("traces %s on %s, armed by %.3f s of CPU; stop with Ctrl-C or: kill %d",
		    script_name(script), kernel.release, cpu.tv_sec + cpu.tv_nsec / 1e9, getpid());
}

/* Losses: each time, what takes system calls to read once in a while. */
static void report_losses(const struct probes *probes, bool is_last)
{
	static int64_t read_ns;

	print_losses(&probes->bss->lost);
	if (!is_last && monotonic_ns() - read_ns < PATIENCE_MS * 1000000LL)
		return;
	print_missed(new_misses(probes));
	read_ns = monotonic_ns();
}

/* The windows that are over; all of them once nothing is noted any more. */
static void print_series(int map, int64_t window_ns, bool is_last)
{
	uint64_t over = (monotonic_ns() - SETTLED_NS) / window_ns;
	struct ios_key key, next;
	struct ios_row row;
	int error = bpf_map_get_next_key(map, NULL, &next);

	while (!error) {
		key = next;
		error = bpf_map_get_next_key(map, &key, &next);
		if (!is_last && key.window >= over)
			continue;
		if (!bpf_map_lookup_elem(map, &key, &row))
			print_ios(&key, &row, window_ns);
		bpf_map_delete_elem(map, &key);
	}
}

/* Of windows and calls, once in a while. */
static void print_profile(struct ring_buffer *ring, const struct probes *probes,
			  const struct options *options, bool is_last)
{
	if (options->series_ns)
		print_series(bpf_map__fd(probes->maps.series), options->series_ns, is_last);
	if (options->calls_bytes) {
		ring_buffer__consume(ring);
		print_kept(&probes->bss->unkept);
	}
}

static void follow(struct ring_buffer *ring, const struct probes *probes,
		   const struct options *options)
{
	int64_t printed_ns = monotonic_ns();

	while (!is_stopped) {
		int error;

		pause_ns = monotonic_ns() + PATIENCE_MS * 1000000LL;
		error = ring_buffer__poll(ring, PATIENCE_MS);
		if (error < 0 && error != -EINTR)
			die(EXIT_FAILED, "the rows cannot be read: %s", strerror(-error));
		report_losses(probes, false);
		if (monotonic_ns() - printed_ns >= PATIENCE_MS * 1000000LL) {
			print_profile(ring, probes, options, false);
			printed_ns = monotonic_ns();
		}
		json_flush();
		check_reader();
		if (error > 0)
			nanosleep(&(struct timespec){ .tv_nsec = GATHERING_NS }, NULL);
	}
}

/* A call that has stalled already; it has not ended. */
static bool has_slept(const void *call)
{
	return ((const struct write_row *)call)->sleeps;
}

/* A sleep that has ended; its call has not: see hand_over_wait(). */
static bool has_ended(const void *sleep)
{
	return ((const struct block_row *)sleep)->ran_ns;
}

/* The rows of a map that no probe handed over. */
static void print_rest(int map, bool (*is_shown)(const void *))
{
	static union {
		struct write_row call;
		struct block_row sleep;
	} row;
	uint64_t key, *last = NULL;

	while (!bpf_map_get_next_key(map, last, &key)) {
		if (!bpf_map_lookup_elem(map, &key, &row) && is_shown(&row))
			print_row(&row);
		last = &key;
	}
}

int main(int argc, char **argv)
{
	struct options options = {
		.limits = { 1000000, 100000000, 10000000 },
	};
	struct ring_buffer *ring;
	struct probes *probes;
	bool are_bios_seen;

	read_options(argc, argv, &options);
	handle_signals();
	probes = arm(&options, &are_bios_seen);
	ring = ring_buffer__new(bpf_map__fd(probes->maps.rows), take_row, probes, NULL);
	if (!ring || ring_buffer__add(ring, bpf_map__fd(probes->maps.kept), take_call, NULL))
		die(EXIT_FAILED, "the rows cannot be read: %s", strerror(errno));
	print_start(options.script);
	print_begin(options.script, &options.limits);
	if (!are_bios_seen)
		print_unseen_bios();
	json_flush();
	symbols_refresh();
	probes->bss->aio_fsync_work_at = symbol_address("aio_fsync_work");
	keep_calls(options.calls_bytes);
	follow(ring, probes, &options);
	report_losses(probes, true);	/* detached kprobes count no longer */
	disarm(probes);
	pause_ns = INT64_MAX;
	ring_buffer__consume(ring);
	print_profile(ring, probes, &options, true);
	if (options.script == STALLED_WRITES) {
		print_rest(bpf_map__fd(probes->maps.asleep), has_ended);
		print_rest(bpf_map__fd(probes->maps.calls), has_slept);
	}
	print_losses(&probes->bss->lost);
	print_end();
	json_flush();
	ring_buffer__free(ring);
	probes__destroy(probes);
	return 0;
}
