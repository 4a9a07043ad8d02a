/* SPDX-License-Identifier: GPL-2.0-only */
/* rows.h: what the probes hand to the program, one struct for each kind of event */
#ifndef ROWS_H
#define ROWS_H

#define COMM_BYTES 16
#define STACK_FRAMES 56		/* 48 are shown, without those of the tracer */
#define FOLDER_BYTES 256
#define NAME_BYTES 520		/* a longer path is unknown: docs/events.md */
#define UNKNOWN (-1)

/* Kinds of calls that are no system calls, by their numbers in docs/calls.toml. */
#define CALL_URING 1000
#define CALL_AIO 2000
#define CALL_AIO_FSYNC 2002
#define CALL_AIO_FDSYNC 2003
#define CALL_AIO_MIXED 2099
#define CALL_FAULT 3000
#define CALL_NONE (-1)

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

/* Stands in a program for a variable of the kernel, whose type's id the program has. */
#define VARIABLE_TO_SET 0x5eed5eed

enum row_kind { ROW_BLOCK = 1, ROW_WRITE, ROW_IO };
enum context { IN_TASK, IN_SOFTIRQ, IN_HARDIRQ, IN_NMI };

/* Cgroups by their ids; 0: there is none. io_hierarchy is 0 for version 2. */
struct groups {
	unsigned long long cgroup;
	unsigned long long io_cgroup;
	unsigned long long io_hierarchy;
};

/* Stacks one behind the other, innermost frames first, so that a row may end early. */
struct stacks {
	unsigned int first;	/* frames of the first */
	unsigned int second;
	unsigned long long frames[2 * STACK_FRAMES];
};

/* An uninterruptible sleep; stacks are the sleeper's and the waker's. */
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
	long long t_ns;
	long long woken_ns;	/* 0: nobody has been seen waking it */
	long long ran_ns;
	unsigned long long blocker;
	unsigned long long owner;
	struct groups groups;
	struct groups waker_groups;
	struct stacks stacks;
};

/* What tells a call from the next one of its task. */
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

/* A call of a file system; stacks are the kernel's and the user's. */
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

/* A bio; the stack is that of a kernel worker that submitted it. */
struct io_row {
	unsigned int kind;
	int tid;
	int pid;
	unsigned int dev;
	char comm[COMM_BYTES];
	unsigned int is_worker;
	unsigned int op;
	long long t_ns;
	long long queued_ns;	/* by the limits of its cgroup; 0: never */
	long long issued_ns;
	long long ended_ns;
	unsigned long long sector;
	unsigned long long bytes;
	struct groups groups;
	struct stacks stacks;
};

/* What could not be kept or handed over, by reason. */
struct losses {
	unsigned long long rows;
	unsigned long long sleeps;
	unsigned long long calls;
	unsigned long long ios;
	unsigned long long submitters;
	unsigned long long stacks;
	unsigned long long locks;
};

#endif
