// SPDX-License-Identifier: GPL-2.0-only
/*
 * requests.c: make the requests of AIO again, by io_submit(2)
 *
 * A thread goes on once a request is submitted; another one, for all of them, waits for
 * their ends.
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
static pthread_t reaper;
static _Atomic uint32_t under_way;
static _Atomic bool all_submitted;

static void note_request(struct load *load, const struct io_event *event)
{
	struct call *call = (struct call *)(uintptr_t)event->data;

	call->took_ns = now_ns() - load->start_ns - call->began_ns;
	call->failed = event->res < 0;
	note_end(&load->files[call->row.file], call->place);
	under_way--;
}

static void *wait_for_ends(void *argument)
{
	static struct io_event events[MOST];

	while (!stop_signal() && !(all_submitted && !under_way)) {
		struct timespec look = { .tv_nsec = LOOK_NS };
		long count = syscall(SYS_io_getevents, context, 1, MOST, events, &look);

		for (long i = 0; i < count; i++)
			note_request(argument, &events[i]);
	}
	return NULL;
}

static bool has_requests(const struct load *load)
{
	for (uint32_t i = 0; i < load->count; i++) {
		if (is_request(&load->calls[i].row))
			return true;
	}
	return false;
}

void begin_requests(struct load *load)
{
	if (!has_requests(load))
		return;
	if (syscall(SYS_io_setup, MOST, &context))
		die(EXIT_WRITES_FAILED, "io_setup(2): %s; /proc/sys/fs/aio-max-nr may be too"
		    " low", strerror(errno));
	reaper = start_thread(wait_for_ends, load);
}

/* One that has not ended, since a signal came, has taken until now. */
void end_requests(struct load *load)
{
	all_submitted = true;
	if (!context)
		return;
	join_threads(&reaper, 1);
	for (uint32_t i = 0; i < load->count; i++) {
		struct call *call = &load->calls[i];

		if (is_request(&call->row) && call->began_ns >= 0 && !call->took_ns)
			call->took_ns = now_ns() - load->start_ns - call->began_ns;
	}
}

int submit_request(struct call *call, int fd, void *buffer, size_t most)
{
	const struct row *row = &call->row;
	struct iocb iocb = {
		.aio_data = (uintptr_t)call,
		.aio_lio_opcode = row->op == WRITE ? IOCB_CMD_PWRITE : IOCB_CMD_PREAD,
		.aio_fildes = fd,
		.aio_buf = (uintptr_t)buffer,
		.aio_nbytes = row->bytes < most ? row->bytes : most,
		.aio_offset = row->offset,
	};
	struct iocb *list[] = { &iocb };

	under_way++;
	if (syscall(SYS_io_submit, context, 1, list) == 1)
		return 0;
	under_way--;
	return -1;
}
