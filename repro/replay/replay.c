// SPDX-License-Identifier: GPL-2.0-only
/*
 * replay.c: make the calls of a recording again, at their times, in their threads
 *
 * Open loop: a call is due at its recorded time, whether or not the host's time to it is
 * over; it begins later only where its thread is still in the one before, or a call on its
 * file, or of whoever woke its thread, that had ended then has not ended yet (order.c).
 */

#include "replay.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define PIECE (16 << 20)	/* of a call with more bytes */
#define STALL_MS 50

/* linux/mman.h since 4ca9b3859dac, Linux 5.14 */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

const char program_name[] = "replay";

static const char help[] =
	"usage: replay [OPTION]... CALLS FOLDER\n"
	"\n"
	"Make the calls of a recording again, on files in FOLDER. CALLS is a file of\n"
	"writestall export RUN --to calls.\n"
	"\n"
	"  --prepare      make the files, and no call\n"
	"  --report FILE  what was recorded beside what was replayed, as JSON\n"
	"  --requests FILE\n"
	"                 a line for each call, as of any program (docs/applications.md)\n"
	"  --start-ns NS  time 0 of the recording (CLOCK_MONOTONIC; now)\n"
	"  --stall-ms MS  a call of that length has stalled (50)\n"
	"  -h, --help     print this, and exit\n";

struct options {
	const char *calls;
	const char *folder;
	const char *report;
	const char *requests;
	int64_t stall_ns;
	int64_t start_ns;
	bool prepares;
};

/* Whether as many as are needed have ended; false: it is to stop. */
static bool wait_for_others(pthread_mutex_t *mutex, pthread_cond_t *moved,
			    const uint32_t *ended, uint32_t needs)
{
	pthread_mutex_lock(mutex);
	while (*ended < needs && !stop_signal()) {
		struct timespec look = next_look(INT64_MAX);

		pthread_cond_clockwait(moved, mutex, CLOCK_MONOTONIC, &look);
	}
	pthread_mutex_unlock(mutex);
	return !stop_signal();
}

void note_end(struct file *file, uint32_t place)
{
	pthread_mutex_lock(&file->mutex);
	file->ended[place] = 1;
	while (file->mark < file->calls && file->ended[file->mark])
		file->mark++;
	pthread_cond_broadcast(&file->moved);
	pthread_mutex_unlock(&file->mutex);
}

/* For those that it woke. */
static void note_progress(struct thread *thread)
{
	if (!thread->is_waker)
		return;
	pthread_mutex_lock(&thread->mutex);
	thread->over++;
	pthread_cond_broadcast(&thread->moved);
	pthread_mutex_unlock(&thread->mutex);
}

/* All bytes of a read or write, in pieces where they are many; a read ends at the file's. */
static int transfer(const struct thread *thread, int fd, const struct row *row)
{
	int64_t done = 0;

	while (done < row->bytes) {
		int64_t left = row->bytes - done;
		size_t size = left < PIECE ? left : PIECE;
		ssize_t moved = row->op == WRITE ?
			pwrite(fd, thread->buffer, size, row->offset + done) :
			pread(fd, thread->buffer, size, row->offset + done);

		if (moved < 0)
			return -1;
		if (!moved)
			break;
		done += moved;
	}
	return 0;
}

/* `bytes` of the file from the page of `offset` on; NULL with errno. */
static void *map(int fd, int64_t offset, size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			offset - offset % sysconf(_SC_PAGESIZE));

	return at == MAP_FAILED ? NULL : at;
}

/* Fault a page in as a load or a store does, but for SIGBUS behind the file's end. */
static int fault(int fd, const struct row *row)
{
	void *page = map(fd, row->offset, 1);
	int result;

	if (!page)
		return -1;
	result = madvise(page, 1, row->flags & STORES ? MADV_POPULATE_WRITE :
			 MADV_POPULATE_READ);
	munmap(page, 1);
	return result;
}

static int sync_mapping(int fd, const struct row *row)
{
	size_t bytes = row->bytes + row->offset % sysconf(_SC_PAGESIZE);
	void *at = bytes ? map(fd, row->offset, bytes) : NULL;
	int result;

	if (!at)
		return bytes ? -1 : 0;
	result = msync(at, bytes, MS_SYNC);
	munmap(at, bytes);
	return result;
}

static int by_descriptor(const struct thread *thread, int fd, const struct row *row)
{
	switch (row->op) {
	case WRITE:
	case READ:
		return transfer(thread, fd, row);
	case FSYNC:
		return fsync(fd);
	case FDATASYNC:
		return fdatasync(fd);
	case SYNC_RANGE:
		return sync_file_range(fd, row->offset, row->bytes, row->flags);
	case TRUNCATE:
		return ftruncate(fd, row->offset);
	case MSYNC:
		return sync_mapping(fd, row);
	case FAULT:
		return fault(fd, row);
	default:
		return fallocate(fd, row->flags, row->offset, row->bytes);
	}
}

static bool has_no_descriptor(uint8_t op)
{
	return op == OPEN || op == CLOSE || op == UNLINK || op == RENAME || op == SYNCFS;
}

static int without_descriptor(struct load *load, const struct row *row)
{
	struct file *file = &load->files[row->file];

	switch (row->op) {
	case OPEN:
		return open_again(load, file, row->flags);
	case CLOSE:
		return close_again(file);
	case UNLINK:
		return file->kind == FOLDER ? 0 : remove_name(load, file, row->t_ns);
	case SYNCFS:
		return syncfs(load->folder);
	default:
		if (file->kind == FOLDER)
			return 0;
		return rename_file(load, file,
				   row->offset ? &load->files[row->offset] : NULL,
				   row->t_ns);
	}
}

/* False: its end is yet to come, and will be noted. */
static bool make_call(const struct thread *thread, struct call *call)
{
	struct load *load = thread->load;
	const struct row *row = &call->row;
	bool is_argument = row->op == SYNC_RANGE || row->op == ALLOCATE || row->op == FAULT;
	int64_t begun_ns;
	int fd = -1, result;

	if (!has_no_descriptor(row->op))
		fd = descriptor(load, &load->files[row->file],
				is_argument ? 0 : row->flags);
	begun_ns = now_ns();
	call->began_ns = begun_ns - load->start_ns;
	if (is_request(row))
		result = fd < 0 ? -1 : submit_request(call, fd, thread->buffer, PIECE);
	else if (has_no_descriptor(row->op))
		result = without_descriptor(load, row);
	else
		result = fd < 0 ? -1 : by_descriptor(thread, fd, row);
	if (is_request(row) && !result)
		return false;
	call->took_ns = now_ns() - begun_ns;
	call->failed = result < 0;
	return true;
}

/* At its time, or once what it waits for has ended; false: it is to stop. */
static bool may_begin(const struct load *load, const struct call *call)
{
	struct file *file = &load->files[call->row.file];
	struct thread *waker = call->waker;

	if (call->row.op == WAKE)
		return !waker || wait_for_others(&waker->mutex, &waker->moved, &waker->over,
						 call->needs);
	return wait_until(load->start_ns + call->row.t_ns) &&
		(!file->is_shared || !call->needs ||
		 wait_for_others(&file->mutex, &file->moved, &file->mark, call->needs));
}

static void *make_calls(void *argument)
{
	struct thread *thread = argument;
	struct load *load = thread->load;

	for (uint32_t i = 0; i < thread->count; i++) {
		struct call *call = &load->calls[thread->first + i];
		struct file *file = &load->files[call->row.file];

		if (!may_begin(load, call))
			break;
		if (call->row.op != WAKE && make_call(thread, call) && file->is_shared)
			note_end(file, call->place);
		note_progress(thread);
	}
	return NULL;
}

/* Room for the largest call; pages of reads alone are ever touched. */
static void make_buffer(struct thread *thread)
{
	const struct call *calls = thread->load->calls + thread->first;
	size_t most = 1;

	for (uint32_t i = 0; i < thread->count; i++) {
		bool moves = calls[i].row.op == WRITE || calls[i].row.op == READ;

		if (moves && calls[i].row.bytes > most)
			most = calls[i].row.bytes;
	}
	thread->buffer = mmap(NULL, most < PIECE ? most : PIECE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (thread->buffer == MAP_FAILED)
		die(EXIT_WRITES_FAILED, "memory for a thread: %s", strerror(errno));
	memset(thread->buffer, 1, most < PIECE ? most : PIECE);
}

static void open_folder(struct load *load, const char *path)
{
	struct rlimit limit;

	if (!getrlimit(RLIMIT_NOFILE, &limit)) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
	load->folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (load->folder < 0)
		die(EXIT_USAGE, "%s: %s", path, strerror(errno));
	for (uint32_t i = 0; i <= load->head.files; i++) {
		struct file *file = &load->files[i];

		pthread_mutex_init(&file->mutex, NULL);
		pthread_cond_init(&file->moved, NULL);
		memset(file->fds, -1, sizeof(file->fds));
	}
}

static void run(struct load *load)
{
	pthread_t *threads = zeroed(load->thread_count + 1, sizeof(*threads), "threads");

	for (uint32_t i = 0; i < load->thread_count; i++) {
		make_buffer(&load->threads[i]);
		pthread_mutex_init(&load->threads[i].mutex, NULL);
		pthread_cond_init(&load->threads[i].moved, NULL);
	}
	begin_requests(load);
	for (uint32_t i = 0; i < load->thread_count; i++)
		threads[i] = start_thread(make_calls, &load->threads[i]);
	join_threads(threads, load->thread_count);
	end_requests(load);
	free(threads);
}

static void read_options(int argc, char **argv, struct options *options)
{
	static const struct option table[] = {
		{ "prepare", no_argument, NULL, 'p' },
		{ "report", required_argument, NULL, 'r' },
		{ "requests", required_argument, NULL, 'q' },
		{ "start-ns", required_argument, NULL, 'n' },
		{ "stall-ms", required_argument, NULL, 's' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int letter;

	while ((letter = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		if (letter == 'h') {
			fputs(help, stdout);
			exit(EXIT_OK);
		}
		if (letter == '?')
			exit(EXIT_USAGE);
		if (letter == 'p')
			options->prepares = true;
		if (letter == 'r')
			options->report = optarg;
		if (letter == 'q')
			options->requests = optarg;
		if (letter == 'n')
			options->start_ns = atoll(optarg);
		if (letter == 's')
			options->stall_ns = atoll(optarg) * (NSEC_PER_SEC / 1000);
	}
	if (argc - optind != 2 || options->stall_ns <= 0 || options->start_ns <= 0)
		die(EXIT_USAGE, "name the calls and a folder; try --help");
	options->calls = argv[optind];
	options->folder = argv[optind + 1];
}

int main(int argc, char **argv)
{
	struct options options = { .stall_ns = STALL_MS * (NSEC_PER_SEC / 1000) };
	struct load load = {};

	options.start_ns = now_ns();
	read_options(argc, argv, &options);
	load.start_ns = options.start_ns;
	read_load(&load, options.calls);
	order(&load);
	open_folder(&load, options.folder);
	name_files(&load);
	if (options.prepares) {
		build_files(&load);
		return EXIT_OK;
	}
	hold_signals();
	run(&load);
	report(&load, options.report, options.stall_ns);
	if (options.requests)
		list_requests(&load, options.requests, now_ns());
	return stop_signal() ? EXIT_BY_SIGNAL + stop_signal() : EXIT_OK;
}
