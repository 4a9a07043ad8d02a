// SPDX-License-Identifier: GPL-2.0-only
/*
 * rings.c: pass requests to io_uring, by one ring for all threads
 *
 * Its layout is that of io_uring(7). The kernel takes a request as it is submitted, so that
 * there is always room for the next one.
 */

#include "replay.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ENTRIES 1024

static int ring = -1;
static struct io_uring_sqe *requests;
static unsigned int *submitted, *places, submitted_mask;
static unsigned int *taken, *completed, completed_mask;
static struct io_uring_cqe *completions;
static pthread_mutex_t submitting = PTHREAD_MUTEX_INITIALIZER;

static void *map_ring(size_t bytes, off_t which)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
			ring, which);

	if (at == MAP_FAILED)
		die(EXIT_WRITES_FAILED, "a ring of io_uring: %s", strerror(errno));
	return at;
}

void open_ring(void)
{
	struct io_uring_params params = {};
	char *to, *from;

	ring = syscall(SYS_io_uring_setup, ENTRIES, &params);
	if (ring < 0)
		die(EXIT_WRITES_FAILED, "io_uring_setup(2): %s; see"
		    " /proc/sys/kernel/io_uring_disabled", strerror(errno));
	to = map_ring(params.sq_off.array + params.sq_entries * sizeof(*places),
		      IORING_OFF_SQ_RING);
	from = map_ring(params.cq_off.cqes + params.cq_entries * sizeof(*completions),
			IORING_OFF_CQ_RING);
	requests = map_ring(params.sq_entries * sizeof(*requests), IORING_OFF_SQES);
	submitted = (void *)(to + params.sq_off.tail);
	submitted_mask = *(unsigned int *)(to + params.sq_off.ring_mask);
	places = (void *)(to + params.sq_off.array);
	taken = (void *)(from + params.cq_off.head);
	completed = (void *)(from + params.cq_off.tail);
	completed_mask = *(unsigned int *)(from + params.cq_off.ring_mask);
	completions = (void *)(from + params.cq_off.cqes);
}

static struct io_uring_sqe request(struct call *call, int fd, void *buffer, size_t most)
{
	const struct row *row = &call->row;
	struct io_uring_sqe sqe = { .fd = fd, .user_data = (uintptr_t)call };

	if (row->op == FSYNC || row->op == FDATASYNC) {
		sqe.opcode = IORING_OP_FSYNC;
		sqe.fsync_flags = row->op == FDATASYNC ? IORING_FSYNC_DATASYNC : 0;
		return sqe;
	}
	sqe.opcode = row->op == WRITE ? IORING_OP_WRITE : IORING_OP_READ;
	sqe.addr = (uintptr_t)buffer;
	sqe.len = row->bytes < most ? row->bytes : most;
	sqe.off = row->offset;
	return sqe;
}

int submit_to_ring(struct call *call, int fd, void *buffer, size_t most)
{
	unsigned int tail, place;
	long count;

	pthread_mutex_lock(&submitting);
	tail = *submitted;
	place = tail & submitted_mask;
	requests[place] = request(call, fd, buffer, most);
	places[place] = place;
	__atomic_store_n(submitted, tail + 1, __ATOMIC_RELEASE);
	count = syscall(SYS_io_uring_enter, ring, 1, 0, 0, NULL, 0);
	if (count != 1)
		__atomic_store_n(submitted, tail, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&submitting);
	return count == 1 ? 0 : -1;
}

void take_completions(struct load *load, struct timespec *longest)
{
	struct __kernel_timespec until = { longest->tv_sec, longest->tv_nsec };
	struct io_uring_getevents_arg argument = { .ts = (uintptr_t)&until };
	unsigned int head = *taken;

	syscall(SYS_io_uring_enter, ring, 0, 1,
		IORING_ENTER_GETEVENTS | IORING_ENTER_EXT_ARG, &argument, sizeof(argument));
	for (; head != __atomic_load_n(completed, __ATOMIC_ACQUIRE); head++) {
		const struct io_uring_cqe *one = &completions[head & completed_mask];

		note_request(load, one->user_data, one->res);
	}
	__atomic_store_n(taken, head, __ATOMIC_RELEASE);
}
