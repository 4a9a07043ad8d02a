// SPDX-License-Identifier: GPL-2.0-only
// journal_events.c: print commits, their handles, and waits for pages

#include "journal_events.h"

#include <bpf/bpf.h>
#include <stdbool.h>

#include "fields.h"
#include "json.h"

void print_commit(const struct commit_row *row)
{
	if (!row->t_ns)
		return;
	begin_span("commit", row->t_ns, row->ended_ns);
	print_task(row->tid, row->pid, row->comm);
	print_device(row->dev);
	json_number("transaction", row->transaction);
	json_number("locking_ns", row->flushing_ns - row->t_ns);
	json_number("flushing_ns", row->logging_ns - row->flushing_ns);
	json_number("logging_ns", row->logged_ns - row->logging_ns);
	json_number("finishing_ns", row->ended_ns - row->logged_ns);
	json_number("handles", row->handles);
	json_number("blocks", row->blocks);
	json_number("blocks_logged", row->blocks_logged);
	json_end();
}

static void print_sum(const struct commit_row *row, const struct groups *groups,
		      const struct handles *sum)
{
	json_begin("handles");
	json_number("t_ns", row->t_ns);
	print_device(row->dev);
	json_number("transaction", row->transaction);
	print_groups("cgroup", "cgroup_v1", groups);
	json_unsigned("handles", sum->count);
	json_unsigned("blocks", sum->blocks);
	json_end();
}

/* A key that is removed has no next one: take that before. */
void print_handles(int map, const struct commit_row *row)
{
	struct handles_key key, next;
	struct handles sum;
	bool more = !bpf_map_get_next_key(map, NULL, &next);

	while (more) {
		key = next;
		more = !bpf_map_get_next_key(map, &key, &next);
		if (key.dev != row->dev || key.transaction != row->transaction)
			continue;
		if (row->t_ns && !bpf_map_lookup_elem(map, &key, &sum))
			print_sum(row, &key.groups, &sum);
		bpf_map_delete_elem(map, &key);
	}
}

static void print_journal(const char *transaction, const char *phase,
			  const struct journal_state *state)
{
	static const char *const phases[] = {
		NULL, "running", "locking", "flushing", "logging", "finishing",
	};

	json_known(transaction, state->phase ? (int64_t)state->transaction : UNKNOWN);
	json_text_or_null(phase, phases[state->phase]);
}

void print_page_lock(const struct page_lock_row *row)
{
	const struct stacks *stacks = &row->stacks;
	const struct overlap *slept = &row->slept;

	begin_span("page_lock", row->t_ns, row->ended_ns);
	print_task(row->tid, row->pid, row->comm);
	json_text("what", row->is_writeback ? "writeback" : "lock", SIZE_MAX);
	print_device(row->dev);
	json_known("ino", row->ino);
	json_known("index", row->index);
	json_known("pages", row->pages);
	print_journal("transaction", "phase", &row->begun);
	print_stack_of_kernel(stacks);
	json_number("waker_tid", row->waker_tid);
	json_text("waker_comm", row->waker_comm, COMM_BYTES);
	print_context("waker_ctx", row->waker_context);
	print_journal("waker_transaction", "waker_phase", &row->ended);
	print_stack_of_waker(stacks);
	json_known("waker_sleeps", slept->sleeps);
	json_known("waker_slept_ns", slept->slept_ns);
	json_known("waker_longest_ns", slept->longest_ns);
	print_kernel_stack("waker_longest_kstack", slept->longest.frames,
			   slept->longest.count);
	json_end();
}
