/* SPDX-License-Identifier: GPL-2.0-only */
/* replay.h: structures shared by the files of replay */
#ifndef REPLAY_H
#define REPLAY_H

#include "client/client.h"

/*
 * The file that `writestall export --to calls` writes (docs/replay.md), little-endian: a
 * head, the files by number from 1, and the calls by time.
 */
#define MAGIC "wscalls1"
#define TOOK_NS 64
#define MOST_FILES 65535
#define MOST_CALLS (1U << 26)
#define MOST_NS (30LL * 24 * 3600 * NSEC_PER_SEC)
#define MOST_SIZE (1LL << 44)	/* ext4 has no larger file */
#define MOST_THREADS 4096

struct head {
	char magic[8];
	uint32_t files;
	uint32_t calls;
	int64_t dur_ns;
	uint64_t lost;
	uint64_t left_out;
};

enum file_kind { NOT_THERE, REGULAR, FOLDER };

struct file_row {
	uint64_t bytes;
	uint8_t kind;
	uint8_t unused[3];
	uint32_t allocated;	/* 1 + blocks of ALLOCATED_BYTES; 0: unknown */
};

#define ALLOCATED_BYTES 4096

/* The numbers of enum keep in bpf/core/rows.h. */
enum operation {
	WRITE = 2, READ, FSYNC, FDATASYNC, SYNC_RANGE, OPEN, CLOSE, UNLINK, RENAME,
	TRUNCATE, ALLOCATE, SYNCFS, MSYNC, FAULT, OPERATIONS,
	WAKE = OPERATIONS,	/* no call: of thread `tid` by that of `offset` */
};

#define STORES 1	/* the flags of a FAULT by a store */

enum flag {
	APPENDS = 1, DIRECT = 2, DSYNC = 4, SYNC = 8, CREATED = 16, RING = 16,
	TRUNCATED = 32, ASYNC = 64, FAILED = 128,
};

#define VARIANTS 16	/* of APPENDS to SYNC: how a file is open */

struct row {
	int64_t t_ns;
	int64_t offset;		/* of a rename, the file that it replaced */
	uint32_t took;
	int32_t tid;
	uint32_t bytes;
	uint16_t file;
	uint8_t op;
	uint8_t flags;
};

/* Of AIO, or with RING of io_uring: its thread does not wait for its end. */
static inline bool is_request(const struct row *row)
{
	return row->op >= WRITE && row->op <= FDATASYNC && (row->flags & ASYNC);
}

/* A call, and what became of it. */
struct call {
	struct row row;
	int64_t began_ns;	/* since the start; -1: it was not made */
	int64_t took_ns;
	uint32_t place;		/* among the calls of its file, by their ends */
	uint32_t needs;		/* that many of those had ended when it began; a WAKE: of its waker */
	struct thread *waker;	/* of a WAKE, one that is replayed */
	bool failed;
};

static inline int64_t recorded_ns(const struct call *call)
{
	return (int64_t)call->row.took * TOOK_NS;
}

static inline int compared(int64_t a, int64_t b)
{
	return (a > b) - (a < b);
}

#define OPENED 64		/* descriptors of opens that were not closed yet */

struct file {
	uint64_t bytes;
	int64_t allocated;	/* bytes on the disk; -1: unknown */
	enum file_kind kind;
	bool is_shared;		/* by threads, or has requests */
	bool is_created;	/* by its first call */
	int64_t last_use_ns;	/* by descriptor */
	pthread_mutex_t mutex;
	pthread_cond_t moved;
	unsigned char *ended;	/* by place */
	uint32_t calls;
	uint32_t mark;		/* all before it have ended */
	uint32_t name;		/* 0: it has none */
	int fds[VARIANTS];
	int opened[OPENED];
	uint32_t open_count;
};

/* Its calls, and the wakes of it, by time. */
struct thread {
	struct load *load;
	uint32_t first;
	uint32_t count;
	unsigned char *buffer;
	bool is_waker;
	pthread_mutex_t mutex;	/* of a waker */
	pthread_cond_t moved;
	uint32_t over;		/* of its calls and wakes */
};

/* All of a recording; calls by thread, then by time. */
struct load {
	struct head head;
	struct file *files;	/* by number; 0 is none */
	struct call *calls;
	uint32_t count;
	uint32_t wakes;		/* of `count` */
	uint32_t skipped;	/* that had failed, or of files that are not replayed */
	struct thread *threads;
	uint32_t thread_count;
	int folder;
	int64_t start_ns;
};

/* load.c: dies with the reason where the file is none, or damaged. */
void read_load(struct load *load, const char *path);

/* order.c: find the threads, and what each call waits for. */
void order(struct load *load);

/* files.c: a file that was there is named by its number. */
void name_files(struct load *load);
void build_files(struct load *load);
/* The descriptor of a file, open as a call's was; -1 with errno. */
int descriptor(struct load *load, struct file *file, uint8_t flags);
int open_again(struct load *load, struct file *file, uint8_t flags);
int close_again(struct file *file);
int remove_name(struct load *load, struct file *file, int64_t t_ns);
int rename_file(struct load *load, struct file *file, struct file *replaced, int64_t t_ns);

/* replay.c: a call on a file with is_shared is over. */
void note_end(struct file *file, uint32_t place);

/* requests.c: -1 with errno; the end of what was submitted is noted. */
void begin_requests(struct load *load);
int submit_request(struct call *call, int fd, void *buffer, size_t most);
void note_request(struct load *load, uint64_t call, int64_t result);
void end_requests(struct load *load);	/* waits for all of them */

/* rings.c: the same by io_uring. */
void open_ring(void);
int submit_to_ring(struct call *call, int fd, void *buffer, size_t most);
void take_completions(struct load *load, struct timespec *longest);

/* report.c: write what was recorded beside what was replayed, as JSON. */
void report(const struct load *load, const char *path, int64_t stall_ns);
/* A line for each call that was due before end_ns; one that was not made waited till then. */
void list_requests(const struct load *load, const char *path, int64_t end_ns);

#endif
