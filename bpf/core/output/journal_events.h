/* SPDX-License-Identifier: GPL-2.0-only */
/* journal_events.h: print commits, their handles, and waits for pages */
#ifndef JOURNAL_EVENTS_H
#define JOURNAL_EVENTS_H

#include "rows.h"

void print_commit(const struct commit_row *row);
/* Those of a commit, in this map; they are removed from it. */
void print_handles(int map, const struct commit_row *row);
void print_page_lock(const struct page_lock_row *row);

#endif
