/* SPDX-License-Identifier: GPL-2.0-only */
/* extent.h: get offset and bytes of a call, UNKNOWN for what is unknown */
#ifndef EXTENT_H
#define EXTENT_H

#include "inflight.h"

/* linux/fs.h: iocb_is_dsync() */
#define IOCB_DSYNC 2
#define S_SYNC 1
#define SB_SYNCHRONOUS 16

/*
 * ki_pos is where it begins until all is copied; a synchronous write goes on to sleep
 * behind that. cqe.res is what is left to write when io_write() begins.
 */
static __always_inline void measure_uring(const struct work *work, struct write_row *row)
{
	struct io_kiocb *req = (void *)work->request;
	struct io_rw *rw = (void *)work->request;
	struct file *file;

	if (!bpf_core_field_exists(struct io_kiocb, cqe.res))
		return;
	if (has_argument(work->how, HOW_VECTOR))
		row->bytes = BPF_CORE_READ(req, cqe.res);
	else if (has_argument(work->how, HOW_BYTES))
		row->bytes = BPF_CORE_READ(rw, len);
	else
		return;
	file = BPF_CORE_READ(rw, kiocb.ki_filp);
	if (!(BPF_CORE_READ(rw, kiocb.ki_flags) & IOCB_DSYNC) &&
	    !(BPF_CORE_READ(file, f_inode, i_flags) & S_SYNC) &&
	    !(BPF_CORE_READ(file, f_inode, i_sb, s_flags) & SB_SYNCHRONOUS))
		row->offset = BPF_CORE_READ(rw, kiocb.ki_pos);
}

static __always_inline void measure_aio(const struct work *work, struct write_row *row)
{
	struct iocb iocb = {};

	read_iocb(&iocb, work->request, 0);
	row->offset = iocb.aio_offset;
	if (has_argument(work->how, HOW_BYTES))
		row->bytes = iocb.aio_nbytes;
	else
		row->bytes = bytes_of_vectors(iocb.aio_buf, iocb.aio_nbytes);
}

static __always_inline void measure(const struct work *work, const struct registers *regs,
				    struct write_row *row)
{
	__s64 call = work->call;

	row->offset = UNKNOWN;
	row->bytes = UNKNOWN;
	if (call < CALL_URING) {
		row->offset = offset_of(regs, work->how, work->file);
		if (has_argument(work->how, HOW_VECTOR))
			row->bytes = bytes_of_vectors(regs->arguments[1],
						      argument(regs, work->how,
							       HOW_VECTOR));
		else if (has_argument(work->how, HOW_BYTES))
			row->bytes = argument(regs, work->how, HOW_BYTES);
	} else if (call < CALL_AIO) {
		measure_uring(work, row);
	} else if (call == CALL_FAULT) {
		row->offset = work->where;
	} else if (call != CALL_AIO_MIXED && call != CALL_AIO_FSYNC &&
		   call != CALL_AIO_FDSYNC && regs->arguments[1] == 1) {
		measure_aio(work, row);
	}
}

#endif
