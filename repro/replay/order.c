// SPDX-License-Identifier: GPL-2.0-only
/*
 * order.c: find the threads of a recording, and what each call waits for
 *
 * A call waits for those of its thread, and for the calls on its file that had ended before
 * it began. These are a prefix of the file's calls by their ends, so one mark for each file
 * says whether they all have ended. A thread that was woken waits for what its waker had
 * called, and been woken by, before: a prefix of the waker's. Nothing waits in a circle,
 * whatever the file says: a call begins after the end of those of other threads that it
 * waits for, and not before those of its own.
 */

#include "replay.h"

#include <stdlib.h>

static int64_t end_ns(const struct call *call)
{
	return call->row.t_ns + recorded_ns(call);
}

static int by_thread(const void *left, const void *right)
{
	const struct call *a = left, *b = right;
	int order = compared(a->row.tid, b->row.tid);

	if (!order)
		order = compared(a->row.t_ns, b->row.t_ns);
	/* a nested one, which no thread makes, behind that in which it is */
	return order ? order : compared(b->row.took, a->row.took);
}

static int by_time(const void *left, const void *right)
{
	const struct call *a = *(struct call *const *)left, *b = *(struct call *const *)right;
	int order = compared(a->row.file, b->row.file);

	if (!order)
		order = compared(a->row.t_ns, b->row.t_ns);
	return order ? order : compared(a - b, 0);
}

static int by_end(const void *left, const void *right)
{
	const struct call *a = *(struct call *const *)left, *b = *(struct call *const *)right;
	int order = compared(a->row.file, b->row.file);

	if (!order)
		order = compared(end_ns(a), end_ns(b));
	return order ? order : compared(a - b, 0);
}

static void find_threads(struct load *load)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < load->count; i++)
		count += !i || load->calls[i].row.tid != load->calls[i - 1].row.tid;
	if (count > MOST_THREADS)
		die(EXIT_USAGE, "%u threads in the recording, at most %d are replayed", count,
		    MOST_THREADS);
	load->threads = zeroed(count + 1, sizeof(*load->threads), "threads");
	for (uint32_t i = 0; i < load->count; i++) {
		if (!i || load->calls[i].row.tid != load->calls[i - 1].row.tid)
			load->threads[load->thread_count++] = (struct thread){
				.load = load,
				.first = i,
			};
		load->threads[load->thread_count - 1].count++;
	}
}

/* Of one file, its calls by time and by end. */
static void find_needs(struct file *file, struct call **begun, struct call **ended,
		       uint32_t count)
{
	uint32_t over = 0;

	file->calls = count;
	file->ended = zeroed(count, 1, "calls of a file");
	file->is_created = begun[0]->row.op == OPEN && (begun[0]->row.flags & CREATED);
	for (uint32_t i = 0; i < count; i++) {
		uint8_t op = begun[i]->row.op;

		while (over < count && end_ns(ended[over]) < begun[i]->row.t_ns)
			over++;
		begun[i]->needs = over;
		ended[i]->place = i;
		file->is_shared |= begun[i]->row.tid != begun[0]->row.tid ||
			is_request(&begun[i]->row);
		if (op != OPEN && op != CLOSE && op != UNLINK && op != RENAME)
			file->last_use_ns = begun[i]->row.t_ns;
	}
}

static int by_tid(const void *tid, const void *thread)
{
	const struct thread *one = thread;

	return compared(*(const int32_t *)tid, one->load->calls[one->first].row.tid);
}

/* When all of a thread up to each of its calls were over for it: requests go on. */
static int64_t *ends_of_threads(const struct load *load)
{
	int64_t *ends = zeroed(load->count + 1, sizeof(*ends), "calls");

	for (uint32_t i = 0; i < load->count; i++) {
		const struct call *call = &load->calls[i];
		int64_t over_ns = is_request(&call->row) ? call->row.t_ns : end_ns(call);
		bool is_first = !i || call[-1].row.tid != call->row.tid;

		ends[i] = !is_first && ends[i - 1] > over_ns ? ends[i - 1] : over_ns;
	}
	return ends;
}

/* How many of a thread's were over before. */
static uint32_t over_before(const struct thread *thread, const int64_t *ends, int64_t t_ns)
{
	uint32_t least = 0, most = thread->count;

	while (least < most) {
		uint32_t middle = least + (most - least) / 2;

		if (ends[thread->first + middle] < t_ns)
			least = middle + 1;
		else
			most = middle;
	}
	return least;
}

static void find_wakers(struct load *load)
{
	int64_t *ends = ends_of_threads(load);

	for (uint32_t i = 0; i < load->count; i++) {
		struct call *call = &load->calls[i];
		int32_t tid = call->row.offset;

		if (call->row.op != WAKE)
			continue;
		call->waker = bsearch(&tid, load->threads, load->thread_count,
				      sizeof(*load->threads), by_tid);
		if (!call->waker || call->row.offset != tid || tid == call->row.tid)
			call->waker = NULL;
		else
			call->waker->is_waker = true;
		call->needs = call->waker ? over_before(call->waker, ends, call->row.t_ns) : 0;
	}
	free(ends);
}

static struct call **sorted(struct load *load, int (*compare)(const void *, const void *))
{
	struct call **all = zeroed(load->count + 1, sizeof(*all), "calls");

	for (uint32_t i = 0; i < load->count; i++)
		all[i] = &load->calls[i];
	qsort(all, load->count, sizeof(*all), compare);
	return all;
}

void order(struct load *load)
{
	struct call **begun, **ended;

	qsort(load->calls, load->count, sizeof(*load->calls), by_thread);
	find_threads(load);
	if (load->wakes)
		find_wakers(load);
	begun = sorted(load, by_time);
	ended = sorted(load, by_end);
	for (uint32_t i = 0, first = 0; i < load->count; i++) {
		uint16_t number = begun[i]->row.file;

		if (i + 1 < load->count && begun[i + 1]->row.file == number)
			continue;
		if (number)	/* wakes have none */
			find_needs(&load->files[number], begun + first, ended + first,
				   i + 1 - first);
		first = i + 1;
	}
	free(begun);
	free(ended);
}
