/* SPDX-License-Identifier: GPL-2.0-only */
/* rows.h: what the probes hand to the program, one struct for each kind of event */
#ifndef ROWS_H
#define ROWS_H

#define COMM_BYTES 16
#define STACK_FRAMES 56		/* 48 are shown, without those of the tracer */
#define WAITING_FRAMES 24	/* of a program that waits */
#define MOST_FRAMES (2 * STACK_FRAMES + WAITING_FRAMES)
#define FOLDER_BYTES 256
#define NAME_BYTES 520		/* a longer path is unknown: docs/events.md */
#define UNKNOWN (-1)

/* What is traced; each has the events of its namesake in stap/. */
enum script { STALLED_WRITES, SLOW_WRITES, PAGE_LOCKS, JOURNAL_COMMITS, DRILLDOWN, SCRIPTS };

/* Kinds of calls that are no system calls, by their numbers in docs/calls.toml. */
#define CALL_URING 1000
#define CALL_AIO 2000
#define CALL_AIO_FSYNC 2002
#define CALL_AIO_FDSYNC 2003
#define CALL_AIO_MIXED 2099
#define CALL_FAULT 3000
#define CALL_NONE (-1)
#define CALL_NUMBERS 4096	/* all are below it */

/*
 * How a call is read, a row of docs/calls.toml in bits: seven numbers of four bits, each
 * the place of an argument, from 1, or 0 where the call has none such; then flags.
 */
enum how_argument {
	HOW_FD,
	HOW_ALSO,
	HOW_FOLDER,
	HOW_NAME,
	HOW_BYTES,
	HOW_VECTOR,
	HOW_OFFSET,
	HOW_ARGUMENTS,
};

#define HOW_BITS 4
#define HOW_POSITION (1ULL << (HOW_BITS * HOW_ARGUMENTS))
#define HOW_STACK (HOW_POSITION << 1)
#define HOW_KNOWN (HOW_POSITION << 2)
#define HOW_SHARED (HOW_POSITION << 3)
#define HOW_ADDRESS (HOW_POSITION << 4)
#define HOW_FLUSHES (HOW_POSITION << 5)
#define HOW_TRANSFER (HOW_POSITION << 6)	/* kept by vfs_read() or vfs_write() */
#define HOW_KEEP 40	/* from this bit on, in four: enum keep */

/* Stands in a program for a variable of the kernel, whose type's id the program has. */
#define VARIABLE_TO_SET 0x5eed5eed

enum row_kind {
	ROW_BLOCK = 1, ROW_WRITE, ROW_IO, ROW_COMMIT, ROW_PAGE_LOCK, ROW_FILE, ROW_INSIDE,
};
enum context { IN_TASK, IN_SOFTIRQ, IN_HARDIRQ, IN_NMI };

/* Cgroups by their ids; 0: there is none. io_hierarchy is 0 for version 2. */
struct groups {
	unsigned long long cgroup;
	unsigned long long io_cgroup;
	unsigned long long io_hierarchy;
};

/*
 * The user's stack, the kernel's and the waker's, one behind the other, innermost frames
 * first, so that a row may end early. No row has all three with STACK_FRAMES frames.
 */
struct stacks {
	unsigned int user;	/* frames of each */
	unsigned int kernel;
	unsigned int waker;
	unsigned int unused;
	unsigned long long frames[MOST_FRAMES];
};

struct stack {
	unsigned long long count;
	unsigned long long frames[STACK_FRAMES];
};

/* A sleep; `state` as in /proc/PID/stat; the user's stack where that is S. */
struct block_row {
	unsigned int kind;
	int tid;
	int pid;
	int waker_tid;
	char comm[COMM_BYTES];
	char waker_comm[COMM_BYTES];
	char holder_comm[COMM_BYTES];
	int waker_context;
	int holder_tid;
	unsigned int state;
	unsigned int unused;
	long long t_ns;
	long long woken_ns;	/* 0: nobody has been seen waking it */
	long long ran_ns;
	unsigned long long blocker;
	unsigned long long owner;
	unsigned long long futex;	/* that it waits for in user space, or 0 */
	struct groups groups;
	struct groups waker_groups;
	struct stacks stacks;
};

/* Distinguishes a call from the next one of its task. */
struct identity {
	long long call;
	long long fd;
	long long where;
	unsigned long long request;
	unsigned long long ip;
	unsigned long long sp;
	unsigned long long arguments;
	unsigned long long reads;	/* finished ones, and their bytes */
	unsigned long long bytes_read;
	unsigned long long writes;
	unsigned long long bytes_written;
};

/* A call of a file system. */
struct write_row {
	unsigned int kind;
	int tid;
	int pid;
	unsigned int dev;
	char comm[COMM_BYTES];
	long long t_ns;
	long long end_ns;	/* of its last sleep so far */
	long long slept_ns;
	long long sleeps;
	long long offset;
	long long bytes;
	long long ret;
	unsigned long long ino;
	struct groups groups;
	struct identity identity;
	char folder[FOLDER_BYTES];
	char name[NAME_BYTES];
	struct stacks stacks;
};

#define MOST_FUNCTIONS 256	/* of a drill-down, the root included */
#define MOST_NODES 96		/* of one call */
#define NO_NODE MOST_NODES

/* A function in a call of the root, as often as the one of node `parent` called it. */
struct node {
	unsigned short function;	/* its place in --functions; 0: the root */
	unsigned short parent;
	unsigned int unnoted;	/* visits to it from below, under way, that had no room */
	unsigned long long calls;
	long long sum_ns;
	long long begun_ns;	/* of the visit under way */
};

struct inside {
	unsigned int at;	/* the node that the task is in */
	unsigned int count;
	unsigned long long sp;	/* of the kernel, as the root began */
	unsigned long long left_out;
	struct node nodes[MOST_NODES];
};

/* A slow call of the root; `call` is handed over without stacks. */
struct inside_row {
	unsigned int kind;
	unsigned int unused;
	struct inside inside;
	struct write_row call;
};

/* Of a bio, which the kernel numbers differently from release to release. */
enum io_flag { IO_PREFLUSH = 1, IO_FUA = 2, IO_META = 4 };

/* A bio; the stack is that of a kernel worker that submitted it. */
struct io_row {
	unsigned int kind;
	int tid;
	int pid;
	unsigned int dev;
	char comm[COMM_BYTES];
	unsigned int is_worker;
	unsigned int op;
	unsigned int flags;	/* enum io_flag */
	unsigned int depth;	/* in flight on its device, itself among them; 0: unknown */
	unsigned int has_gap;
	unsigned int unused;
	long long gap;		/* sectors from the end of the one before it */
	long long t_ns;
	long long queued_ns;	/* by the limits of its cgroup; 0: never */
	long long issued_ns;
	long long ended_ns;
	unsigned long long sector;
	unsigned long long bytes;
	struct groups groups;
	struct stacks stacks;
};

/*
 * Bios by their latency: 8 buckets of equal width for each power of 2, from 2^10 ns on. The
 * first has what is below, too, the last what is above.
 */
#define BUCKET_BITS 3
#define LEAST_POWER 10
#define BUCKETS (24 << BUCKET_BITS)

/* By their depth: 1, 2 to 3, ... 128 and more. */
#define DEPTHS 8

/* By their gap, without its sign: 0, then 1 to 15 sectors, 16 to 255, ... 2^24 and more. */
#define GAP_BITS 4
#define GAPS 8

/* Which bios: those that ended in a window of time. */
struct ios_key {
	unsigned int dev;
	unsigned int op;
	unsigned int flags;	/* enum io_flag */
	unsigned int unused;
	unsigned long long window;	/* its number since boot */
};

struct ios_row {
	unsigned long long bytes;
	unsigned long long depth_ns[DEPTHS];	/* the sum of their latencies */
	unsigned int depths[DEPTHS];
	unsigned int gaps[GAPS];
	unsigned int counts[BUCKETS];
};

/* What a call is in a replay (docs/replay.md); KEEP_LEFT: counted alone. */
enum keep {
	KEEP_NOTHING, KEEP_LEFT, KEEP_WRITE, KEEP_READ, KEEP_FSYNC, KEEP_FDATASYNC,
	KEEP_SYNC_RANGE, KEEP_OPEN, KEEP_CLOSE, KEEP_UNLINK, KEEP_RENAME, KEEP_TRUNCATE,
	KEEP_ALLOCATE, KEEP_SYNCFS, KEEP_MSYNC, KEEP_FAULT,
	KEEP_WAKE,	/* no call: of task `tid` by that of `offset`, wakes.h */
};

/*
 * How the file is open, or was opened. KEEP_ALLOCATE, KEEP_SYNC_RANGE: its argument.
 * KEEP_FAULT: 1 where the task stores. KEPT_RING is of requests (KEPT_ASYNC) alone.
 */
enum kept_flag {
	KEPT_APPEND = 1, KEPT_DIRECT = 2, KEPT_DSYNC = 4, KEPT_SYNC = 8, KEPT_CREATED = 16,
	KEPT_RING = 16, KEPT_TRUNCATED = 32, KEPT_ASYNC = 64, KEPT_FAILED = 128,
};

/* A call of those that a replay makes again; `docs/replay.md` has its bytes. */
struct kept_row {
	long long t_ns;
	long long offset;	/* of a rename, the number of the file that it replaced */
	unsigned int took;	/* in units of TOOK_NS */
	int tid;
	unsigned int bytes;
	unsigned short file;	/* its number, of a struct file_row */
	unsigned char op;	/* enum keep */
	unsigned char flags;	/* enum kept_flag */
};

#define TOOK_NS 64
#define MOST_FILES 8192

/* A file of kept calls, as it was before the first of them. */
struct file_row {
	unsigned int kind;
	unsigned int number;	/* from 1 */
	unsigned int dev;
	unsigned int is_folder;
	unsigned long long ino;
	unsigned long long bytes;
	long long allocated;	/* on the disk; UNKNOWN: the file system alone knows */
	long long t_ns;
};

/* A commit of a journal: when each of its phases began. */
struct commit_row {
	unsigned int kind;
	int tid;
	int pid;
	unsigned int dev;
	char comm[COMM_BYTES];
	long long t_ns;		/* 0: before tracing */
	long long flushing_ns;
	long long logging_ns;
	long long logged_ns;
	long long ended_ns;
	unsigned int transaction;
	unsigned int handles;
	unsigned int blocks;
	unsigned int blocks_logged;
};

/* The handles of the tasks of a cgroup in a transaction. */
struct handles_key {
	unsigned int dev;
	unsigned int transaction;
	struct groups groups;
};

struct handles {
	unsigned long long count;
	unsigned long long blocks;
};

enum phase { NO_PHASE, RUNNING, LOCKING, FLUSHING, LOGGING, FINISHING, PHASES };

/* Of a journal at some time. */
struct journal_state {
	unsigned int transaction;
	unsigned int phase;
};

/* How the last sleeps of a task overlap an interval. */
struct overlap {
	long long sleeps;		/* UNKNOWN: nobody asked */
	long long slept_ns;
	long long longest_ns;		/* the whole sleep that overlaps most; UNKNOWN: none */
	struct stack longest;
};

/* A wait for a page. */
struct page_lock_row {
	unsigned int kind;
	int tid;
	int pid;
	int waker_tid;
	char comm[COMM_BYTES];
	char waker_comm[COMM_BYTES];
	int waker_context;
	unsigned int is_writeback;
	unsigned int dev;		/* 0: the page is of no file */
	unsigned int has_journal;	/* the file system may have one */
	long long ino;
	long long index;
	long long pages;
	unsigned long long queue;	/* distinguishes a wait from the task's next one */
	long long t_ns;
	long long ended_ns;
	struct journal_state begun;
	struct journal_state ended;
	struct overlap slept;
	struct stacks stacks;
};

/* Where the records of jbd2's tracepoints have their fields: trace_fields.c. */
struct jbd2_fields {
	unsigned int commit_dev, commit_transaction;
	unsigned int end_dev, end_transaction;
	unsigned int stats_dev, stats_transaction;
	unsigned int stats_handles, stats_blocks, stats_logged;
	unsigned int handle_dev, handle_transaction, handle_blocks;
};

/* What could not be kept or handed over, by reason. */
struct losses {
	unsigned long long rows;
	unsigned long long sleeps;
	unsigned long long calls;
	unsigned long long ios;
	unsigned long long windows;
	unsigned long long queues;
	unsigned long long submitters;
	unsigned long long stacks;
	unsigned long long locks;
	unsigned long long commits;
	unsigned long long handles;
	unsigned long long journals;
	unsigned long long waits;
	unsigned long long past;
	unsigned long long drilled;
	unsigned long long returns;
};

/* Calls that no `calls` event has; the other events lack nothing. */
struct kept_counts {
	unsigned long long lost;
	unsigned long long left;	/* of KEEP_LEFT */
};

#endif
