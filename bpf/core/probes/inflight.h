/* SPDX-License-Identifier: GPL-2.0-only */
/* inflight.h: find the call that a task works on as it falls asleep */
#ifndef INFLIGHT_H
#define INFLIGHT_H

#include "files.h"

/* linux/sched.h */
#define PF_IO_WORKER 0x10
#define PF_WQ_WORKER 0x20
#define PF_KTHREAD 0x200000
#define REQ_F_FIXED_FILE 1	/* linux/io_uring_types.h */
#define MOST_IOCBS 16

/* What a task, on its way out of the CPU, works on. 0, or UNKNOWN for fd: unknown. */
struct work {
	__s64 call;
	__u64 how;		/* 0: nothing of ours */
	__u64 request;		/* or the mapping of a fault */
	__u64 file;
	__u64 path;
	__s64 fd;
	__s64 where;		/* offset of an iocb or a fault */
	__u32 wanted;		/* to be found on the stack */
	bool may_flush;		/* the first file there is one that it flushes */
	bool is_returning;
};

static __always_inline __u64 how_of(__s64 call)
{
	__u32 number = call < 0 || call >= CALL_NUMBERS ? CALL_NUMBERS : call;
	__u64 *how = bpf_map_lookup_elem(&known_calls, &number);

	return how ? *how : 0;
}

/* A request that a worker of io_uring's took over: io_uring/io-wq.c. */
static __always_inline void note_uring(struct task_struct *task, struct work *work)
{
	struct io_worker *worker;
	struct io_kiocb *req;
	__u64 inner;

	if (!bpf_core_field_exists(struct task_struct, worker_private) ||
	    !bpf_core_field_exists(struct io_kiocb, cqe.fd))
		return;
	worker = BPF_CORE_READ(task, worker_private);
	inner = (__u64)BPF_CORE_READ(worker, cur_work);
	if (!inner)
		return;
	work->request = inner - bpf_core_field_offset(struct io_kiocb, work);
	req = (void *)work->request;
	work->call = CALL_URING + BPF_CORE_READ(req, opcode);
	work->how = how_of(work->call);
	work->file = (__u64)BPF_CORE_READ(req, file);
	if (!(BPF_CORE_READ(req, flags) & REQ_F_FIXED_FILE))
		work->fd = BPF_CORE_READ(req, cqe.fd);
}

/* kernel/kthread.c, to_kthread() */
static __always_inline struct kthread *kthread_of(struct task_struct *task)
{
	struct task_struct___5_16 *old = (void *)task;

	if (bpf_core_field_exists(struct task_struct, worker_private))
		return BPF_CORE_READ(task, worker_private);
	return (void *)BPF_CORE_READ(old, set_child_tid);
}

/* An fsync of AIO's: fs/aio.c, aio_fsync_work(); kernel/kthread.c; kernel/workqueue.c. */
static __always_inline void note_aio_fsync(struct task_struct *task, struct work *work)
{
	struct worker *worker;
	struct fsync_iocb *sync;

	if (!aio_fsync_work_at)
		return;
	worker = BPF_CORE_READ(kthread_of(task), data);
	if ((__u64)BPF_CORE_READ(worker, current_func) != aio_fsync_work_at)
		return;
	work->request = (__u64)BPF_CORE_READ(worker, current_work) -
		bpf_core_field_offset(struct fsync_iocb, work);
	sync = (void *)work->request;
	work->call = BPF_CORE_READ(sync, datasync) ? CALL_AIO_FDSYNC : CALL_AIO_FSYNC;
	work->how = how_of(work->call);
	work->file = (__u64)BPF_CORE_READ(sync, file);
}

/* One of the requests passed to io_submit(2), in user memory. */
static __always_inline void read_iocb(struct iocb *iocb, __u64 list, int i)
{
	__u64 at = 0;

	bpf_probe_read_user(&at, sizeof(at), (void *)(list + i * 8));
	bpf_probe_read_user(iocb, sizeof(*iocb), (void *)at);
}

/* 1 for IOCB_CMD_PREAD, PWRITE, FSYNC, FDSYNC, PREADV, PWRITEV. */
static __always_inline __u64 works_on_files(__u64 opcode)
{
	return 0x18f >> (opcode & 63) & 1;
}

/*
 * fs/aio.c, io_submit_one() to aio_write(): one iocb is done after the other, and nothing
 * shows which is under way. It is known where all are of one kind and file.
 */
__noinline __s64 call_submitted(__u64 list, __s64 count)
{
	struct iocb first = {};
	__u64 unlike = 0;
	__u64 works = 0;
	int i;

	read_iocb(&first, list, 0);
	for (i = 0; i < MOST_IOCBS; i++) {
		struct iocb iocb = {};

		if (i >= count)
			break;
		read_iocb(&iocb, list, i);
		works |= works_on_files(iocb.aio_lio_opcode);
		unlike |= iocb.aio_lio_opcode ^ first.aio_lio_opcode;
		unlike |= iocb.aio_fildes ^ first.aio_fildes;
	}
	if (!works)
		return CALL_NONE;
	return unlike || count > MOST_IOCBS ? CALL_AIO_MIXED :
		CALL_AIO + first.aio_lio_opcode;
}

static __always_inline void note_aio(struct task_struct *task,
				     const struct registers *regs, struct work *work)
{
	struct iocb first = {};

	work->request = regs->arguments[2];
	work->call = call_submitted(work->request, regs->arguments[1]);
	work->how = how_of(work->call);
	read_iocb(&first, work->request, 0);
	work->where = first.aio_offset;
	if (!work->how || work->call == CALL_AIO_MIXED)
		return;
	work->fd = (__s32)first.aio_fildes;
	work->file = file_of(task, work->fd);
}

/*
 * May the call end with the release of a file? Where it takes the last reference, fput()
 * leaves the release to the way back (fs/file_table.c, task_work_add()).
 */
static __always_inline bool releases(__u64 how)
{
	return (how & (HOW_STACK | HOW_SHARED)) == HOW_STACK;
}

static __always_inline void note_call(struct task_struct *task,
				      const struct registers *regs, struct work *work)
{
	__u64 how = how_of(regs->call);
	__u64 user;

	if (regs->is_returning && !releases(how))
		return;
	work->call = regs->call;
	work->how = how;
	if (!how)
		return;
	if (has_argument(how, HOW_FD)) {
		work->fd = fd_of(task, regs, how);
	} else if (has_argument(how, HOW_NAME)) {
		user = name_at(regs, how);
		if (has_argument(how, HOW_FOLDER) && !is_named(user)) {
			work->fd = (__s32)argument(regs, how, HOW_FOLDER);
		} else {
			work->wanted = WANT_PATH;
			work->path = (__u64)BPF_CORE_READ(task, nameidata);
		}
	} else if (how & HOW_STACK) {
		work->wanted = how & HOW_SHARED ? WANT_SHARED : WANT_RELEASED;
		work->is_returning = regs->is_returning;
		work->may_flush = (how & HOW_FLUSHES) && !regs->is_returning;
	}
	work->file = file_of(task, work->fd);
}

static __always_inline void find_wanted(struct task_struct *task, struct work *work)
{
	__u64 mm = (__u64)BPF_CORE_READ(task, mm), regs = registers_at(task);
	__u64 at = find_on_stack(mm, regs, work->wanted);
	struct vm_area_struct *vma;

	/* A close(2) has the file still open while it flushes. */
	if (!at && work->may_flush)
		at = find_on_stack(mm, regs, WANT_FILE);
	if (work->wanted == WANT_PATH) {
		work->path = at;
	} else if (work->wanted != WANT_FAULT) {
		work->file = at ? word_at(at) : 0;
		/* The way back has other work, too. */
		if (!at && work->is_returning)
			work->how = 0;
	} else {
		vma = at ? (void *)word_at(at) : 0;
		work->request = (__u64)vma;
		work->where = word_at(at + 16) << 12;
		work->file = (__u64)BPF_CORE_READ(vma, vm_file);
		if (!work->file)
			work->how = 0;
	}
}

/* That is a system call, a page fault, or a request of io_uring's or AIO's. */
static __always_inline void find_work(struct task_struct *task,
				      const struct registers *regs, struct work *work)
{
	__u32 flags = BPF_CORE_READ(task, flags);

	work->call = CALL_NONE;
	work->fd = UNKNOWN;
	if (flags & PF_IO_WORKER) {
		note_uring(task, work);
	} else if (flags & PF_WQ_WORKER) {
		note_aio_fsync(task, work);
	} else if (!(flags & PF_KTHREAD)) {
		if (regs->call == NO_CALL) {
			work->call = CALL_FAULT;
			work->how = how_of(work->call);
			work->wanted = WANT_FAULT;
		} else if (regs->call == io_submit_call && !regs->is_returning &&
			   (__s64)regs->arguments[1] > 0) {
			note_aio(task, regs, work);
		} else {
			note_call(task, regs, work);
		}
	}
	if (work->how && work->wanted && !work->path)
		find_wanted(task, work);
	if (work->file)
		work->path = work->file + bpf_core_field_offset(struct file, f_path);
	if (!work->how)
		work->call = CALL_NONE;
}

#endif
