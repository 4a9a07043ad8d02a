/* SPDX-License-Identifier: GPL-2.0-only */
/* state.h: the settings of a run, and what is kept of tasks and bios */
#ifndef STATE_H
#define STATE_H

#include "kernel.h"

#include <bpf/bpf_helpers.h>

#include "rows.h"

#define TASKS 8192		/* asleep at the same time */
#define CALLS 2048		/* in a call of a file system and asleep once */
#define BIOS 8192
#define WINDOWS 2048		/* of disks, operations and time, until they are printed */
#define QUEUES 256		/* of devices */
#define WORKERS_BIOS 1024	/* submitted by kernel workers, with their stacks */
#define COMMITS 256		/* at the same time */
#define HANDLES 4096		/* cgroups in transactions */
#define JOURNALS 64
#define WAITS 2048		/* for pages */
#define DRILLED 256		/* tasks in the root of a drill-down */
#define PAST_TASKS 2048		/* whose last sleeps are kept */
#define ROWS_SIZE (2 << 20)
#define KEPT_SIZE (4 << 20)
#define STACK_WORDS 256

/* The program sets these before it loads the probes. 0 or "": choose all. */
const volatile __u32 script = STALLED_WRITES;
const volatile __s64 floor_ns = 1000000;
const volatile __s64 stall_ns = 100000000;
const volatile __s64 io_ns = 10000000;
const volatile __s64 series_ns;		/* length of a window of shorter bios; 0: no series */
const volatile bool are_calls_kept;	/* profile.h */
const volatile __u64 page_bytes = 4096;
const volatile __s32 only_pid;
const volatile __u32 only_dev;
const volatile __u64 only_ino;
const volatile bool is_comm_chosen;
const volatile char only_comm[COMM_BYTES];

/* Whose interruptible sleeps are recorded, too. 0 and "": nobody's. */
const volatile __s32 waits_pid;
const volatile bool are_waits_by_comm;
const volatile char waits_comm[COMM_BYTES];
const volatile __s32 own_session;	/* the tracer's, no family of waits_pid; 0: any */

/* What the program found out about this kernel. */
const volatile bool has_lock_owners;
const volatile bool has_typed_count;	/* preempt_count() is a variable in the BTF */
const volatile __u64 per_cpu_offsets_at;	/* else, and the place in each CPU's part */
const volatile __u64 preempt_count_at;
const volatile bool has_two_probes;	/* at the functions of bios */
const volatile __u32 bio_chain_bit;
const volatile __s64 bpf_call = 321;
const volatile __s64 io_submit_call = 209;
const volatile bool are_requests_seen;	/* of AIO, their ends */
const volatile bool are_syncs_seen;	/* of AIO's syncs */
const volatile __s64 futex_call = 202;
const volatile struct jbd2_fields jbd2;
const volatile __u32 wait_done;		/* WQ_FLAG_DONE, linux/wait.h */

/* What it finds out later. */
__u64 aio_fsync_work_at;
__u64 regs_offset;		/* of the user's registers on a kernel stack */
struct losses lost;
struct kept_counts unkept;
__u32 files_seen;

#define MAP_OF(KIND, ENTRIES, KEY, VALUE) { \
	__uint(type, KIND); \
	__uint(max_entries, ENTRIES); \
	__type(key, KEY); \
	__type(value, VALUE); \
}

/* By task or bio; an id of a task may be used again before it has left the CPU. */
struct MAP_OF(BPF_MAP_TYPE_HASH, TASKS, __u64, struct block_row) asleep SEC(".maps");
struct MAP_OF(BPF_MAP_TYPE_HASH, CALLS, __u64, struct write_row) calls SEC(".maps");
struct MAP_OF(BPF_MAP_TYPE_HASH, TASKS, __u64, __u64) contended SEC(".maps");

struct io {
	__s32 tid;
	__s32 pid;
	char comm[COMM_BYTES];
	__u32 dev;
	__u32 op;
	__u32 is_worker;
	__u32 flags;
	__s64 t_ns;
	__s64 queued_ns;
	__s64 issued_ns;
	__u64 sector;
	__u64 bytes;
	__u32 depth;		/* itself among them; 0: not counted (queues.h) */
	__u32 has_gap;
	__s64 gap;		/* in sectors */
};

/* Of a device. */
struct queue {
	__u64 in_flight;
	__u64 next[2];		/* sector behind the last read, and write; 0: was none */
};

struct MAP_OF(BPF_MAP_TYPE_HASH, BIOS, __u64, struct io) ios SEC(".maps");
struct MAP_OF(BPF_MAP_TYPE_HASH, QUEUES, __u32, struct queue) queues SEC(".maps");
struct MAP_OF(BPF_MAP_TYPE_HASH, WINDOWS, struct ios_key, struct ios_row) series
	SEC(".maps");
struct MAP_OF(BPF_MAP_TYPE_HASH, WORKERS_BIOS, __u64, struct stacks) submitters SEC(".maps");

/* `how` of each chosen call, by its number; an array's lookup is a few instructions. */
struct MAP_OF(BPF_MAP_TYPE_ARRAY, CALL_NUMBERS, __u32, __u64) known_calls SEC(".maps");

struct begun {
	__s64 call;
	__s64 t_ns;
};

struct MAP_OF(BPF_MAP_TYPE_HASH, TASKS, __u64, struct begun) begun_calls SEC(".maps");

/* A page fault of a file's mapping, which may be tried several times. */
struct fault {
	__s64 t_ns;		/* 0: the task is in none */
	__s64 offset;
	__u64 file;
	bool stores;
	bool is_major;
};

/* What a task is in that may be chosen for a replay; see profile.h. */
struct caller {
	struct fault fault;
	__s64 t_ns;
	__u64 looked_jiffies;	/* whether it is chosen */
	__s64 news_ns;		/* end of the newest call it knows of; wakes.h */
	__s64 told_ns;		/* that with which it woke the last task */
	__s64 offset;
	__u64 file;
	__s32 tid;
	__u32 bytes;
	__u16 number;
	__u8 op;
	__u8 flags;
	__u8 is_chosen;
	__s32 told_tid;
	__s32 written_fd;	/* the last one, plus 1 */
};

/*
 * A request of AIO by the user's struct iocb, which other processes may have, too; a sync
 * that is carried out by its work, and one of io_uring by its struct io_kiocb.
 */
struct request_key {
	__u64 at;
	__u64 file;
};

struct MAP_OF(BPF_MAP_TYPE_HASH, TASKS, struct request_key, struct kept_row) requests
	SEC(".maps");

struct file_key {
	__u64 ino;
	__u32 dev;
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct caller);
} callers SEC(".maps");
struct MAP_OF(BPF_MAP_TYPE_HASH, MOST_FILES, struct file_key, __u32) files SEC(".maps");
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, KEPT_SIZE);
} kept SEC(".maps");

struct MAP_OF(BPF_MAP_TYPE_HASH, COMMITS, __u64, struct commit_row) commits SEC(".maps");
struct MAP_OF(BPF_MAP_TYPE_HASH, HANDLES, struct handles_key, struct handles) handles
	SEC(".maps");
struct MAP_OF(BPF_MAP_TYPE_HASH, WAITS, __u64, struct page_lock_row) waits SEC(".maps");
struct MAP_OF(BPF_MAP_TYPE_HASH, DRILLED, __u64, struct inside) drilled SEC(".maps");

#define LAST_PHASES 64

struct journal {
	__u64 turns;
	struct turn {
		__s64 t_ns;
		struct journal_state state;
	} last[LAST_PHASES];
};

struct MAP_OF(BPF_MAP_TYPE_HASH, JOURNALS, __u32, struct journal) journals SEC(".maps");

#define LAST_SLEEPS 4

struct past {
	__u64 count;
	struct sleep {
		__s64 t_ns;
		__s64 woken_ns;
		struct stack stack;
	} last[LAST_SLEEPS];
};

struct MAP_OF(BPF_MAP_TYPE_HASH, PAST_TASKS, __u64, struct past) pasts SEC(".maps");

/* Too large for the stack. Each is used where nothing can interrupt its user. */
struct scratch {
	struct block_row block;
	struct write_row write;
	struct inside_row inside;
	__u64 words[STACK_WORDS];
};

struct MAP_OF(BPF_MAP_TYPE_PERCPU_ARRAY, 1, __u32, struct scratch) scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, ROWS_SIZE);
} rows SEC(".maps");

static __always_inline struct scratch *scratch_of_cpu(void)
{
	__u32 first = 0;

	return bpf_map_lookup_elem(&scratches, &first);
}

static __always_inline void lose(__u64 *counter)
{
	__sync_fetch_and_add(counter, 1);
}

/* The first values of what is then filled in place. */
static const struct stacks no_stacks;
static const struct handles no_handles;
static const struct ios_row no_ios;
static const struct queue no_queue;
static const struct journal no_journal;
static const struct past no_past;
static const struct inside no_inside = { .at = NO_NODE };
static const struct page_lock_row no_wait;

/* Hand over a row up to the end of its stacks. */
#define EMIT(row) emit(row, __builtin_offsetof(typeof(*(row)), stacks.frames), &(row)->stacks)

static __always_inline void hand_over(void *row, __u64 bytes)
{
	if (bpf_ringbuf_output(&rows, row, bytes, 0))
		lose(&lost.rows);
}

static __always_inline void emit(void *row, __u64 head, const struct stacks *stacks)
{
	__u64 frames = stacks->user + stacks->kernel + stacks->waker;

	if (frames > MOST_FRAMES)
		frames = MOST_FRAMES;
	hand_over(row, head + frames * sizeof(__u64));
}

/* A task of the kernel's has no user stack; each has one in the kernel. */
static __always_inline __u32 frames_in(long bytes, __u64 flags)
{
	if (bytes < 0) {
		if (!(flags & BPF_F_USER_STACK))
			lose(&lost.stacks);
		return 0;
	}
	return bytes > STACK_FRAMES * 8 ? STACK_FRAMES : (__u64)bytes / 8;
}

static __always_inline __u64 frames_before(__u64 frames, __u64 most)
{
	return frames > most ? most : frames;
}

/* The stacks of a row are taken in the order in which they stand there. */
static __always_inline void take_user(void *ctx, struct stacks *stacks, __u32 most)
{
	stacks->user = frames_in(bpf_get_stack(ctx, stacks->frames, most * 8,
					       BPF_F_USER_STACK), BPF_F_USER_STACK);
	stacks->kernel = 0;
	stacks->waker = 0;
}

static __always_inline void take_kernel(void *ctx, struct stacks *stacks)
{
	__u64 at = frames_before(stacks->user, STACK_FRAMES);

	stacks->kernel = frames_in(bpf_get_stack(ctx, stacks->frames + at,
						 STACK_FRAMES * 8, 0), 0);
	stacks->waker = 0;
}

/*
 * Of a task that sleeps. Without functions that only schedule, mutex_lock() among them
 * (kernel/stacktrace.c, stack_trace_consume_entry_nosched()).
 */
static __always_inline void take_kernel_of(struct task_struct *task, struct stacks *stacks)
{
	__u64 at = frames_before(stacks->user, WAITING_FRAMES);

	stacks->kernel = frames_in(bpf_get_task_stack(task, stacks->frames + at,
						      STACK_FRAMES * 8, 0), 0);
}

static __always_inline void take_waker(void *ctx, struct stacks *stacks)
{
	__u64 at = frames_before(stacks->user + stacks->kernel,
				 STACK_FRAMES + WAITING_FRAMES);

	stacks->waker = frames_in(bpf_get_stack(ctx, stacks->frames + at,
						STACK_FRAMES * 8, 0), 0);
}

#endif
