// SPDX-License-Identifier: GPL-2.0-only
/*
 * probes.bpf.c: list all probes of the tracer
 *
 * The headers of stap/NAME.stp say what the probes of each script show. One object serves
 * every kernel with BTF since 5.10: the places of members, and which of the programs below
 * are loaded, are found when the program starts (choosing.c). The verifier drops what
 * another script needs, for `script` is known when it reads a program.
 */
#include "commits.h"
#include "exact.h"
#include "faults.h"
#include "inside.h"
#include "ios.h"
#include "requests.h"
#include "rings.h"
#include "sleeps.h"
#include "wakes.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline void leave(void *ctx, struct task_struct *task, __u32 state,
				  bool is_asleep, __s64 now)
{
	__u64 key = (__u64)task;
	struct write_row *row = bpf_map_lookup_elem(&calls, &key);
	struct identity identity = {};
	struct registers regs = {};
	struct work work = {};

	if (!row && !is_asleep)
		return;
	read_registers(&regs, registers_at(task));
	find_work(task, &regs, &work);
	identify(task, &work, &regs, &identity);
	if (row && ((state & TASK_DEAD) || !is_same(&row->identity, &identity))) {
		end_call(key, row, &identity);
		row = 0;
	}
	if (is_asleep && !row && work.how)
		begin_call(ctx, task, now, &work, &regs, &identity);
}

static __always_inline void on_switch(void *ctx, bool is_preempted,
				      struct task_struct *prev, struct task_struct *next,
				      __u32 state)
{
	__u64 key = (__u64)prev;
	struct block_row *row = row_of_waiter(key);
	__u32 letter = is_preempted ? 0 : letter_of(prev, state, row);
	__s64 now = bpf_ktime_get_ns();

	if (letter || (state & TASK_DEAD))
		end_wait_in_call(ctx, prev, row);
	if (letter && (script != JOURNAL_COMMITS || is_committing(prev)) &&
	    (script != DRILLDOWN || is_inside(key)))
		fall_asleep(ctx, prev, letter, row, now);
	if (script == STALLED_WRITES)
		leave(ctx, prev, state, letter == 'D', now);
	if (script == PAGE_LOCKS && (state & TASK_DEAD))
		forget(key);
	if (row && (state & TASK_DEAD))
		bpf_map_delete_elem(&asleep, &key);
	arrive(next, now);
}

/*
 * prev_state is there since fa2c3254d7cf ("sched/tracing: Don't re-read p->state when
 * emitting sched_switch event"), Linux 5.18. The state read here may be that of a task
 * which is being woken already: such a sleep is over before it begins.
 */
SEC("raw_tp/sched_switch")
int switch_with_state(struct bpf_raw_tracepoint_args *ctx)
{
	on_switch(ctx, ctx->args[0], (void *)ctx->args[1], (void *)ctx->args[2],
		  ctx->args[3]);
	return 0;
}

SEC("raw_tp/sched_switch")
int switch_without_state(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *prev = (void *)ctx->args[1];

	on_switch(ctx, ctx->args[0], prev, (void *)ctx->args[2], state_of(prev));
	return 0;
}

/* By BTF: the helper for the stack of another task takes no other pointer to it. */
SEC("tp_btf/sched_waking")
int waking(__u64 *args)
{
	wake(args, (void *)args[0]);
	if (are_calls_kept)
		wake_kept((void *)args[0]);
	return 0;
}

/* 16edd9b511a1 ("locking: Add lock contention tracepoints"), Linux 5.19. */
SEC("raw_tp/contention_begin")
int wait_for_lock(struct bpf_raw_tracepoint_args *ctx)
{
	contend(ctx->args[0], ctx->args[1]);
	return 0;
}

SEC("raw_tp/contention_end")
int end_wait_for_lock(struct bpf_raw_tracepoint_args *ctx)
{
	obtain(ctx->args[0]);
	return 0;
}

/*
 * Attached to the entries of calls which nothing else distinguishes from one before with the same
 * arguments: whoever enters one has ended what it did before.
 */
SEC("kprobe")
int enter_anew(struct pt_regs *regs)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 key = (__u64)task;
	struct write_row *row = bpf_map_lookup_elem(&calls, &key);
	struct identity now = {};

	(void)regs;
	if (row) {
		count_transfers(task, &now);
		end_call(key, row, &now);
	}
	return 0;
}

/* Run once, in bpf(2), before the others are attached. */
SEC("raw_tp/sys_enter")
int calibrate(void *ctx)
{
	(void)ctx;
	find_registers();
	return 0;
}

/*
 * The first parameter of each of these functions is the bio. They are attached in this
 * order: of a bio that is noted the end is seen, too.
 */
SEC("fentry/bio_endio")
int finish(__u64 *args)
{
	end_io((void *)args[0]);
	return 0;
}

SEC("fentry/submit_bio")
int submit(__u64 *args)
{
	note_io(args, (void *)args[0]);
	return 0;
}

SEC("fentry/throtl_qnode_add_bio")
int throttle(__u64 *args)
{
	throttle_io((void *)args[0]);
	return 0;
}

/* Three times the cost; see enum hooks in choosing.h. */
SEC("kprobe/bio_endio")
int finish_by_kprobe(struct pt_regs *regs)
{
	end_io((void *)FIRST_PARAMETER(regs));
	return 0;
}

SEC("kprobe/submit_bio")
int submit_by_kprobe(struct pt_regs *regs)
{
	note_io(regs, (void *)FIRST_PARAMETER(regs));
	return 0;
}

SEC("kprobe/throtl_qnode_add_bio")
int throttle_by_kprobe(struct pt_regs *regs)
{
	throttle_io((void *)FIRST_PARAMETER(regs));
	return 0;
}

/*
 * Not raw tracepoints: those of 7.2 run with preemption enabled (include/trace/bpf_probe.h,
 * __BPF_DECLARE_TRACE_SYSCALL()), and one that runs on the CPU already is passed over
 * (kernel/trace/bpf_trace.c, __bpf_trace_run()): for the calls of all others while a task
 * is preempted in it. Programs of a record run with preemption disabled
 * (trace_call_bpf()).
 */
SEC("tp/raw_syscalls/sys_enter")
int enter(struct trace_event_raw_sys_enter *record)
{
	enter_call(record->id);
	return 0;
}

SEC("tp/raw_syscalls/sys_exit")
int leave_to_user(struct trace_event_raw_sys_exit *record)
{
	leave_call(record, record->ret);
	return 0;
}

/*
 * A call in which the task slept interruptibly ends; also on its way back to user space.
 * A program at the raw tracepoint would cost less, and was missed now and then on 7.2:
 * another task's ran on that CPU.
 */
SEC("tp/raw_syscalls/sys_exit")
int leave_wait(struct trace_event_raw_sys_exit *record)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 key = (__u64)task;

	end_wait_in_call(record, task, bpf_map_lookup_elem(&asleep, &key));
	return 0;
}

/*
 * Calls for a replay, by the functions of their system calls alone, so that no other call
 * costs anything. Two are loaded for each that is kept (call_probes.c).
 */
SEC("fentry")
int enter_of_chosen(__u64 *args)
{
	struct registers regs = {};

	take_registers(&regs, (void *)args[0]);
	enter_kept(&regs);
	return 0;
}

SEC("fexit")
int leave_of_chosen(__u64 *args)
{
	leave_kept(args[1]);
	return 0;
}

/* Attached to each that is counted alone. */
SEC("kprobe")
int leave_out(struct pt_regs *regs)
{
	(void)regs;
	count_left();
	return 0;
}

SEC("fexit/vfs_read")
int end_read_of_chosen(__u64 *args)
{
	end_transfer(KEEP_READ, (void *)args[0], args[3], args[4]);
	return 0;
}

SEC("fexit/vfs_write")
int end_write_of_chosen(__u64 *args)
{
	end_transfer(KEEP_WRITE, (void *)args[0], args[3], args[4]);
	return 0;
}

SEC("fentry")
int submit_of_chosen(__u64 *args)
{
	struct registers regs = {};

	take_registers(&regs, (void *)args[0]);
	submit_kept(&regs);
	return 0;
}

/* These two know the file of a name; their parameters have been the same since 5.10. */
SEC("fentry/security_inode_unlink")
int unlink_of_chosen(__u64 *args)
{
	unlink_kept((void *)args[1]);
	return 0;
}

SEC("fentry/security_inode_rename")
int rename_of_chosen(__u64 *args)
{
	rename_kept((void *)args[1], (void *)args[3]);
	return 0;
}

SEC("fentry/vfs_fsync_range")
int msync_of_chosen(__u64 *args)
{
	msync_kept((void *)args[0], args[1], args[2]);
	return 0;
}

SEC("fentry/handle_mm_fault")
int fault_of_chosen(__u64 *args)
{
	enter_fault((void *)args[0], args[1], args[2]);
	return 0;
}

/* The result is behind the four parameters. */
SEC("fexit/handle_mm_fault")
int end_fault_of_chosen(__u64 *args)
{
	leave_fault((void *)args[0], args[4]);
	return 0;
}

SEC("fentry/aio_complete_rw")
int request_of_chosen(__u64 *args)
{
	complete_kept((void *)args[0], args[1]);
	return 0;
}

SEC("fentry/aio_fsync_work")
int sync_of_chosen(__u64 *args)
{
	begin_sync((void *)args[0]);
	return 0;
}

SEC("fexit/aio_fsync_work")
int end_sync_of_chosen(__u64 *args)
{
	end_sync((void *)args[0]);
	return 0;
}

SEC("tp/io_uring/io_uring_submit_req")
int ring_of_chosen(struct trace_event_raw_io_uring_submit_req *record)
{
	submit_to_ring(record->req);
	return 0;
}

SEC("tp/io_uring/io_uring_complete")
int end_ring_of_chosen(struct trace_event_raw_io_uring_complete *record)
{
	complete_in_ring(record->req);
	return 0;
}

/* Functions named when the program starts; a cookie is the place of each in --functions. */
SEC("kprobe.multi")
int enter_function_of_many(struct pt_regs *regs)
{
	enter_function(regs, bpf_get_attach_cookie(regs));
	return 0;
}

SEC("kprobe.multi")
int leave_function_of_many(struct pt_regs *regs)
{
	leave_function(bpf_get_attach_cookie(regs), RESULT(regs));
	return 0;
}

/* Where the kernel cannot probe many at once: one by one. */
SEC("kprobe")
int enter_one_function(struct pt_regs *regs)
{
	enter_function(regs, bpf_get_attach_cookie(regs));
	return 0;
}

SEC("kretprobe")
int leave_one_function(struct pt_regs *regs)
{
	leave_function(bpf_get_attach_cookie(regs), RESULT(regs));
	return 0;
}

SEC("fentry/wake_page_function")
int unlock(__u64 *args)
{
	unlock_page((void *)args[0], (void *)args[3]);
	return 0;
}

SEC("kprobe/wake_page_function")
int unlock_by_kprobe(struct pt_regs *regs)
{
	unlock_page((void *)FIRST_PARAMETER(regs), (void *)FOURTH_PARAMETER(regs));
	return 0;
}

SEC("kprobe/finish_wait")
int finish_waiting(struct pt_regs *regs)
{
	end_wait((void *)SECOND_PARAMETER(regs));
	return 0;
}

/*
 * jbd2 is a module as a rule: its types may be out of reach, so that its tracepoints are
 * read by their records.
 */
SEC("tp/jbd2/jbd2_start_commit")
int commit_locks(void *record)
{
	__u32 dev = field(record, jbd2.commit_dev);
	__u32 transaction = field(record, jbd2.commit_transaction);

	if (script == JOURNAL_COMMITS)
		begin_commit(dev, transaction);
	else
		enter_phase(dev, transaction, LOCKING);
	return 0;
}

SEC("tp/jbd2/jbd2_commit_flushing")
int commit_flushes(void *record)
{
	struct commit_row *row;

	if (script != JOURNAL_COMMITS)
		enter_phase(field(record, jbd2.commit_dev),
			    field(record, jbd2.commit_transaction), FLUSHING);
	else if ((row = commit_of_task()))
		row->flushing_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp/jbd2/jbd2_commit_logging")
int commit_logs(void *record)
{
	struct commit_row *row;

	if (script != JOURNAL_COMMITS)
		enter_phase(field(record, jbd2.commit_dev),
			    field(record, jbd2.commit_transaction), LOGGING);
	else if ((row = commit_of_task()))
		row->logging_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp/jbd2/jbd2_run_stats")
int commit_finishes(void *record)
{
	struct commit_row *row;

	if (script != JOURNAL_COMMITS) {
		enter_phase(field(record, jbd2.stats_dev),
			    field(record, jbd2.stats_transaction), FINISHING);
	} else if ((row = commit_of_task())) {
		row->logged_ns = bpf_ktime_get_ns();
		row->handles = field(record, jbd2.stats_handles);
		row->blocks = field(record, jbd2.stats_blocks);
		row->blocks_logged = field(record, jbd2.stats_logged);
	}
	return 0;
}

/* Commits do not overlap: the next transaction is running. */
SEC("tp/jbd2/jbd2_end_commit")
int commit_ends(void *record)
{
	__u32 dev = field(record, jbd2.end_dev);
	__u32 transaction = field(record, jbd2.end_transaction);

	if (script == JOURNAL_COMMITS)
		end_commit(dev, transaction);
	else
		enter_phase(dev, transaction + 1, RUNNING);
	return 0;
}

SEC("tp/jbd2/jbd2_handle_stats")
int handle_stops(void *record)
{
	count_handle(field(record, jbd2.handle_dev), field(record, jbd2.handle_transaction),
		     field(record, jbd2.handle_blocks));
	return 0;
}
