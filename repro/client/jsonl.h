/* SPDX-License-Identifier: GPL-2.0-only */
/* jsonl.h: write a client's record, JSON Lines (docs/events.md) */
#ifndef JSONL_H
#define JSONL_H

#include <stdio.h>

#include "client.h"

/* One call, as measured by the client. */
struct client_write {
	int64_t seq;
	int64_t intended_ns;
	int64_t bytes;
	int32_t tid;
	const char *call;
	const char *path;
	struct written written;
};

/* Both exit with an error message if the file cannot be written. */
FILE *open_log(const char *path);
void close_log(FILE *file, const char *path);

void print_json_string(FILE *file, const char *string);
void print_client_write(FILE *file, const struct client_write *line);

#endif
