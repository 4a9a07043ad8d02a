// SPDX-License-Identifier: GPL-2.0-only
/*
 * requests.c: make the requests of AIO and of io_uring again
 *
 * A thread goes on once a request is submitted; another one, for all of each kind, waits
 * for their ends.
 */

#include "replay.h"

#include <errno.h>
#include <linux/aio_abi.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 1024	/* under way */
#define LOOK_NS (NSEC_PER_SEC / 10)

static aio_context_t context;
static _Atomic bool all_submitted;

static void open_context(void)
{
	if (syscall(SYS_io_setup, MOST, &context))
		die(EXIT_WRITES_FAILED, "io_setup(2): %s; /proc/sys/fs/aio-max-nr may be too"
		    " low", strerror(errno));
}

static int submit_to_context(struct call *call, int fd, void *buffer, size_t most)
{
	static const uint16_t opcodes[OPERATIONS] = {
		[WRITE] = IOCB_CMD_PWRITE, [READ] = IOCB_CMD_PREAD,
		[FSYNC] = IOCB_CMD_FSYNC, [FDATASYNC] = IOCB_CMD_FDSYNC,
	};
	const struct row *row = &call->row;
	struct iocb iocb = {
		.aio_data = (uintptr_t)call,
		.aio_lio_opcode = opcodes[row->op],
		.aio_fildes = fd,
	};
	struct iocb *list[] = { &iocb };

	if (row->op == WRITE || row->op == READ) {
		iocb.aio_buf = (uintptr_t)buffer;
		iocb.aio_nbytes = row->bytes < most ? row->bytes : most;
		iocb.aio_offset = row->offset;
	}
	return syscall(SYS_io_submit, context, 1, list) == 1 ? 0 : -1;
}

static void take_events(struct load *load, struct timespec *longest)
{
	static struct io_event events[MOST];
	long count = syscall(SYS_io_getevents, context, 1, MOST, events, longest);

	for (long i = 0; i < count; i++)
		note_request(load, events[i].data, events[i].res);
}

/* Who carries requests out: AIO, io_uring. */
static struct kind {
	void (*open)(void);
	int (*submit)(struct call *call, int fd, void *buffer, size_t most);
	void (*take)(struct load *load, struct timespec *longest);
	bool is_open;
	pthread_t reaper;
	_Atomic uint32_t under_way;
} kinds[] = {
	{ .open = open_context, .submit = submit_to_context, .take = take_events },
	{ .open = open_ring, .submit = submit_to_ring, .take = take_completions },
};

static struct kind *kind_of(const struct row *row)
{
	return &kinds[row->flags & RING ? 1 : 0];
}

void note_request(struct load *load, uint64_t data, int64_t result)
{
	struct call *call = (struct call *)(uintptr_t)data;

	call->took_ns = now_ns() - load->start_ns - call->began_ns;
	call->failed = result < 0;
	note_end(&load->files[call->row.file], call->place);
	kind_of(&call->row)->under_way--;
}

static struct load *all;

static void *wait_for_ends(void *argument)
{
	struct kind *kind = argument;

	while (!stop_signal() && !(all_submitted && !kind->under_way)) {
		struct timespec longest = { .tv_nsec = LOOK_NS };

		kind->take(all, &longest);
	}
	return NULL;
}

void begin_requests(struct load *load)
{
	all = load;
	for (uint32_t i = 0; i < load->count; i++) {
		struct kind *kind = kind_of(&load->calls[i].row);

		if (!is_request(&load->calls[i].row) || kind->is_open)
			continue;
		kind->open();
		kind->is_open = true;
		kind->reaper = start_thread(wait_for_ends, kind);
	}
}

/* One that has not ended, since a signal came, has taken until now. */
void end_requests(struct load *load)
{
	all_submitted = true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		if (kinds[i].is_open)
			join_threads(&kinds[i].reaper, 1);
	}
	for (uint32_t i = 0; i < load->count; i++) {
		struct call *call = &load->calls[i];

		if (is_request(&call->row) && call->began_ns >= 0 && !call->took_ns)
			call->took_ns = now_ns() - load->start_ns - call->began_ns;
	}
}

int submit_request(struct call *call, int fd, void *buffer, size_t most)
{
	struct kind *kind = kind_of(&call->row);

	kind->under_way++;
	if (!kind->submit(call, fd, buffer, most))
		return 0;
	kind->under_way--;
	return -1;
}
