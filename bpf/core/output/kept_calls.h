/* SPDX-License-Identifier: GPL-2.0-only */
/* kept_calls.h: print the calls that a replay makes again, many in one event */
#ifndef KEPT_CALLS_H
#define KEPT_CALLS_H

#include <stdint.h>

#include "rows.h"

/* At most so many bytes of all events' `rows`; calls beyond are counted. */
void keep_calls(int64_t most_bytes);
void take_kept(const struct kept_row *row);
/* Print what is gathered; `counts` has what the probes lost and left out. */
void print_kept(const struct kept_counts *counts);
void print_file(const struct file_row *row);

#endif
