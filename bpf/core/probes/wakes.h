/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * wakes.h: keep which of the chosen tasks woke which, for a replay
 *
 * A call that begins after its thread was woken may rest on what the waker has called
 * before. Each task knows of the newest call that it, or whoever woke it, has ended; a wake
 * that brings no newer one is not kept: most of those of a pair that takes turns.
 */
#ifndef WAKES_H
#define WAKES_H

#include "profile.h"
#include "sleeps.h"

static __always_inline bool is_news(const struct caller *waker, const struct caller *woken)
{
	return woken->news_ns != waker->news_ns &&
		!(waker->told_tid == woken->tid && waker->told_ns == waker->news_ns);
}

/*
 * Of an interruptible sleep: one on a futex, a pipe or an event. The others are in a file
 * system, whose calls the replay makes again.
 */
static __always_inline void wake_kept(struct task_struct *task)
{
	struct caller *waker = known_caller(), *woken;
	struct kept_row row = {};

	if (!waker || !waker->news_ns || !(state_of(task) & TASK_INTERRUPTIBLE) ||
	    context() != IN_TASK)
		return;
	/* one that has entered no call yet has none: nothing is allocated in a wake */
	woken = bpf_task_storage_get(&callers, task, 0, 0);
	if (!woken || !is_caller(woken, task) || !is_news(waker, woken))
		return;
	waker->told_tid = woken->tid;
	waker->told_ns = waker->news_ns;
	if (woken->news_ns < waker->news_ns)
		woken->news_ns = waker->news_ns;
	row.t_ns = bpf_ktime_get_ns();
	row.offset = waker->tid;
	row.tid = woken->tid;
	row.op = KEEP_WAKE;
	keep(&row);
}

#endif
