/* SPDX-License-Identifier: GPL-2.0-only */
/* trace_fields.h: find the fields of jbd2's tracepoints in their records */
#ifndef TRACE_FIELDS_H
#define TRACE_FIELDS_H

#include <stdbool.h>

#include "rows.h"

/* False where jbd2 is not loaded, or tracefs is not mounted. */
bool find_jbd2_fields(struct jbd2_fields *fields);

#endif
