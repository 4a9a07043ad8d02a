// SPDX-License-Identifier: GPL-2.0-only
/*
 * files.c: build the files of a recording in one folder, and open, move and remove them
 *
 * A file has the size that it had; what the calls touch of it has data, the rest is a hole.
 * Where less was allocated than its size, it has no more data than that: where it was is
 * unknown, so what is read has it first, and what is overwritten has the rest. Where more
 * was, that is allocated behind its end, as far as the calls come. All descriptors of a
 * file are shared by the threads.
 */

#include "replay.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIECE (1 << 20)
#define LEAST_AHEAD (64 << 10)	/* less may be the file system's own: of a tree, a name */
#define MOST_AHEAD (4LL << 30)	/* as of a fallocate(2) that is recorded */
#define NAME_BYTES 16

static pthread_mutex_t names = PTHREAD_MUTEX_INITIALIZER;
static uint32_t last_name;

static const char *name_of(uint32_t name, char text[NAME_BYTES])
{
	snprintf(text, NAME_BYTES, "f%08" PRIx32, name);
	return text;
}

static uint32_t new_name(void)
{
	uint32_t name;

	pthread_mutex_lock(&names);
	name = ++last_name;
	pthread_mutex_unlock(&names);
	return name;
}

void name_files(struct load *load)
{
	last_name = load->head.files;
	for (uint32_t number = 1; number <= load->head.files; number++) {
		struct file *file = &load->files[number];

		if (file->kind == REGULAR && !file->is_created)
			file->name = number;
	}
}

static int flags_of(uint8_t flags)
{
	return O_RDWR | O_CLOEXEC | O_NOFOLLOW | (flags & APPENDS ? O_APPEND : 0) |
		(flags & DIRECT ? O_DIRECT : 0) | (flags & DSYNC ? O_DSYNC : 0) |
		((flags & (SYNC | DSYNC)) == (SYNC | DSYNC) ? O_SYNC : 0);
}

static int open_name(struct load *load, struct file *file, int flags)
{
	char name[NAME_BYTES];

	if (file->kind == FOLDER)
		return fcntl(load->folder, F_DUPFD_CLOEXEC, 0);
	if (!file->name) {
		errno = ENOENT;
		return -1;
	}
	return openat(load->folder, name_of(file->name, name), flags, 0600);
}

static int by_offset(const void *left, const void *right)
{
	const struct row *a = *(struct row *const *)left, *b = *(struct row *const *)right;
	int order = compared(a->file, b->file);

	return order ? order : compared(a->offset, b->offset);
}

static noreturn void no_room(void)
{
	die(EXIT_WRITES_FAILED, "the files of the recording: %s; give the machine a larger"
	    " disk", strerror(errno));
}

static void fill(int fd, int64_t from, int64_t to)
{
	static unsigned char piece[PIECE];

	while (from < to) {
		int64_t size = to - from < PIECE ? to - from : PIECE;
		ssize_t written;

		memset(piece, 1 + from / PIECE % 250, size);
		written = pwrite(fd, piece, size, from);
		if (written <= 0)
			no_room();
		from += written;
	}
}

static bool is_sparse(const struct file *file)
{
	return file->allocated >= 0 && (uint64_t)file->allocated < file->bytes;
}

/* From a block's begin to a block's end, within the file. */
static void fill_blocks(int fd, const struct file *file, const struct row *row, int64_t most)
{
	int64_t size = file->bytes, from = row->offset - row->offset % ALLOCATED_BYTES;
	int64_t to = row->offset + row->bytes + ALLOCATED_BYTES - 1;

	to -= to % ALLOCATED_BYTES;
	to = to > size ? size : to;
	fill(fd, from, to - from > most ? from + most : to);
}

static int64_t allocated(int fd)
{
	struct stat status;

	return fstat(fd, &status) ? INT64_MAX : status.st_blocks * 512LL;
}

static bool stores(const struct row *row)
{
	return row->op == WRITE || (row->op == FAULT && row->flags & STORES);
}

/* What is read of a file with holes, or else what is overwritten. */
static void fill_sparse(int fd, const struct file *file, struct row **rows, uint32_t count,
			bool stored)
{
	for (uint32_t i = 0; i < count && rows[i]->offset < (int64_t)file->bytes; i++) {
		int64_t left = file->allocated - allocated(fd);

		if (left <= 0)
			break;
		if (stores(rows[i]) == stored)
			fill_blocks(fd, file, rows[i], left);
	}
}

static void allocate_ahead(int fd, const struct file *file, struct row **rows,
			   uint32_t count)
{
	int64_t size = file->bytes, end = size;

	for (uint32_t i = 0; i < count; i++) {
		int64_t to = rows[i]->offset + rows[i]->bytes;

		end = to > end ? to : end;
	}
	if (end > file->allocated)
		end = file->allocated;
	if (end - size > MOST_AHEAD)
		end = size + MOST_AHEAD;
	if (file->allocated - size < LEAST_AHEAD || end <= size)
		return;
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, size, end - size) && errno != EOPNOTSUPP)
		no_room();
}

/* What is read or overwritten of one file, gaps below a piece included. */
static void fill_touched(int fd, const struct file *file, struct row **rows, uint32_t count)
{
	int64_t from = 0, to = 0, size = file->bytes;

	for (uint32_t i = 0; i < count && rows[i]->offset < size; i++) {
		int64_t end = rows[i]->offset + rows[i]->bytes;

		if (rows[i]->offset - to > PIECE) {
			fill(fd, from, to);
			from = rows[i]->offset;
		}
		to = end > to ? end : to;
		to = to > size ? size : to;
	}
	if (to + PIECE >= size)
		to = size;
	fill(fd, from, to);
}

static void build(struct load *load, struct file *file, struct row **rows, uint32_t count)
{
	int fd;

	if (!file->name)
		return;
	fd = open_name(load, file, flags_of(0) | O_CREAT | O_EXCL);
	if (fd < 0 || ftruncate(fd, file->bytes))
		die(EXIT_WRITES_FAILED, "a file of %" PRIu64 " bytes: %s", file->bytes,
		    strerror(errno));
	if (is_sparse(file)) {
		fill_sparse(fd, file, rows, count, false);
		fill_sparse(fd, file, rows, count, true);
	} else {
		fill_touched(fd, file, rows, count);
	}
	allocate_ahead(fd, file, rows, count);
	close(fd);
}

void build_files(struct load *load)
{
	struct row **rows = zeroed(load->count + 1, sizeof(*rows), "calls");
	uint32_t count = 0, at = 0;

	for (uint32_t i = 0; i < load->count; i++) {
		struct row *row = &load->calls[i].row;

		if (row->op == WRITE || row->op == READ || row->op == FAULT)
			rows[count++] = row;
	}
	qsort(rows, count, sizeof(*rows), by_offset);
	for (uint32_t number = 1; number <= load->head.files; number++) {
		uint32_t first = at;

		while (at < count && rows[at]->file == number)
			at++;
		build(load, &load->files[number], rows + first, at - first);
	}
	free(rows);
	if (syncfs(load->folder))
		die(EXIT_WRITES_FAILED, "the files of the recording: %s", strerror(errno));
}

int descriptor(struct load *load, struct file *file, uint8_t flags)
{
	int *fd = &file->fds[flags % VARIANTS];

	pthread_mutex_lock(&file->mutex);
	if (*fd < 0)
		*fd = open_name(load, file, flags_of(flags % VARIANTS));
	pthread_mutex_unlock(&file->mutex);
	return *fd;
}

static void close_all(struct file *file)
{
	for (int i = 0; i < VARIANTS; i++) {
		if (file->fds[i] >= 0)
			close(file->fds[i]);
		file->fds[i] = -1;
	}
	while (file->open_count)
		close(file->opened[--file->open_count]);
}

/* With the file's mutex held. */
static int keep_open(struct file *file, int fd, uint8_t variant)
{
	if (fd < 0)
		return -1;
	if (file->fds[variant] < 0)
		file->fds[variant] = fd;
	else if (file->open_count < OPENED)
		file->opened[file->open_count++] = fd;
	else
		close(fd);
	return 0;
}

int open_again(struct load *load, struct file *file, uint8_t flags)
{
	int how = flags_of(flags % VARIANTS) | (flags & TRUNCATED ? O_TRUNC : 0), result;

	pthread_mutex_lock(&file->mutex);
	if (flags & CREATED && file->kind == REGULAR) {
		close_all(file);	/* of one that had its number before */
		file->name = new_name();
		how |= O_CREAT;
	}
	result = keep_open(file, open_name(load, file, how), flags % VARIANTS);
	pthread_mutex_unlock(&file->mutex);
	return result;
}

/* The last that was opened; that of a file open since before the recording stays. */
int close_again(struct file *file)
{
	int fd = -1;

	pthread_mutex_lock(&file->mutex);
	if (file->open_count)
		fd = file->opened[--file->open_count];
	pthread_mutex_unlock(&file->mutex);
	return fd < 0 ? 0 : close(fd);
}

/* With the file's mutex held: its blocks are to be freed where nobody uses it again. */
static void let_go(struct file *file, int64_t t_ns)
{
	if (file->last_use_ns < t_ns)
		close_all(file);
}

int remove_name(struct load *load, struct file *file, int64_t t_ns)
{
	char name[NAME_BYTES];
	uint32_t number;

	pthread_mutex_lock(&file->mutex);
	let_go(file, t_ns);
	number = file->name;
	file->name = 0;
	pthread_mutex_unlock(&file->mutex);
	if (!number)
		return 0;
	return unlinkat(load->folder, name_of(number, name), 0);
}

int rename_file(struct load *load, struct file *file, struct file *replaced, int64_t t_ns)
{
	char from[NAME_BYTES], to[NAME_BYTES];
	uint32_t old, new = new_name();

	if (replaced != file && replaced) {
		pthread_mutex_lock(&replaced->mutex);
		let_go(replaced, t_ns);
		new = replaced->name ? replaced->name : new;
		replaced->name = 0;
		pthread_mutex_unlock(&replaced->mutex);
	}
	pthread_mutex_lock(&file->mutex);
	old = file->name;
	if (old)
		file->name = new;
	pthread_mutex_unlock(&file->mutex);
	if (!old)
		return 0;
	return renameat(load->folder, name_of(old, from), load->folder, name_of(new, to));
}
