// SPDX-License-Identifier: GPL-2.0-only
// load.c: read a file of calls, which anybody may have made

#include "replay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

_Static_assert(sizeof(struct head) == 40, "head");
_Static_assert(sizeof(struct file_row) == 16, "file");
_Static_assert(sizeof(struct row) == 32, "row");

static noreturn void damaged(const char *path, const char *what)
{
	die(EXIT_USAGE, "%s: no calls of a recording: %s; writestall export RUN --to calls"
	    " writes them", path, what);
}

static void take(FILE *file, const char *path, void *to, size_t bytes)
{
	if (bytes && fread(to, bytes, 1, file) != 1)
		damaged(path, "it is cut off");
}

static void check_head(FILE *file, const char *path, const struct head *head)
{
	struct stat status;
	int64_t size = sizeof(*head) + head->files * (int64_t)sizeof(struct file_row) +
		head->calls * (int64_t)sizeof(struct row);

	if (memcmp(head->magic, MAGIC, sizeof(head->magic)))
		damaged(path, "it begins otherwise");
	if (head->files > MOST_FILES || head->calls > MOST_CALLS)
		damaged(path, "too many files or calls");
	if (fstat(fileno(file), &status) || (S_ISREG(status.st_mode) && status.st_size != size))
		damaged(path, "it has another size than its head says");
}

static void read_files(FILE *file, const char *path, struct load *load)
{
	load->files = zeroed(load->head.files + 1, sizeof(*load->files), "files");
	for (uint32_t i = 1; i <= load->head.files; i++) {
		struct file_row row;

		take(file, path, &row, sizeof(row));
		if (row.kind > FOLDER || row.bytes > MOST_SIZE)
			damaged(path, "a file of no such kind or size");
		load->files[i].bytes = row.bytes;
		load->files[i].kind = row.kind;
		load->files[i].allocated = row.allocated ?
			(row.allocated - 1LL) * ALLOCATED_BYTES : -1;
	}
}

static bool has_extent(uint8_t op)
{
	return op == WRITE || op == READ || op == SYNC_RANGE || op == TRUNCATE ||
		op == ALLOCATE || op == MSYNC || op == FAULT;
}

static void check_row(const char *path, const struct load *load, const struct row *row)
{
	if (row->op < WRITE || row->op > WAKE)
		damaged(path, "a call of no such kind");
	if (row->op == WAKE ? row->file : !row->file || row->file > load->head.files)
		damaged(path, "a call on no such file");
	if (row->t_ns < 0 || row->t_ns > MOST_NS)
		damaged(path, "a call at no such time");
	if (has_extent(row->op) && (row->offset < 0 || row->offset > MOST_SIZE))
		damaged(path, "a call at no such offset");
	if (row->op == RENAME && (row->offset < 0 || row->offset > load->head.files))
		damaged(path, "a rename to no such file");
}

static bool is_replayed(const struct load *load, const struct row *row)
{
	if (row->op == WAKE)
		return true;
	return !(row->flags & FAILED) && load->files[row->file].kind != NOT_THERE &&
		(row->op != RENAME || load->files[row->offset].kind != NOT_THERE ||
		 !row->offset);
}

static void read_calls(FILE *file, const char *path, struct load *load)
{
	load->calls = zeroed(load->head.calls + 1, sizeof(*load->calls), "calls");
	for (uint32_t i = 0; i < load->head.calls; i++) {
		struct row row;

		take(file, path, &row, sizeof(row));
		check_row(path, load, &row);
		if (!is_replayed(load, &row)) {
			load->skipped++;
			continue;
		}
		load->wakes += row.op == WAKE;
		load->calls[load->count].row = row;
		load->calls[load->count++].began_ns = -1;
	}
}

void read_load(struct load *load, const char *path)
{
	FILE *file = fopen(path, "re");

	if (!file)
		die(EXIT_USAGE, "%s: %s", path, strerror(errno));
	take(file, path, &load->head, sizeof(load->head));
	check_head(file, path, &load->head);
	read_files(file, path, load);
	read_calls(file, path, load);
	fclose(file);
}
