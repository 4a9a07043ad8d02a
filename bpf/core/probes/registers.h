/* SPDX-License-Identifier: GPL-2.0-only */
/* registers.h: read the user's registers of the task that leaves the CPU */
#ifndef REGISTERS_H
#define REGISTERS_H

#include "state.h"

#include <bpf/bpf_core_read.h>

#define NO_CALL (-1)

/* Of a system call: its number and arguments. */
struct registers {
	__s64 call;		/* NO_CALL in a fault */
	bool is_returning;	/* the call has a result, and is on its way back to the caller */
	__u64 ip;
	__u64 sp;
	__u64 arguments[6];
};

#if defined(__TARGET_ARCH_x86)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs {
	unsigned long r10;
	unsigned long r9;
	unsigned long r8;
	unsigned long ax;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long sp;
};
#pragma clang attribute pop

#define ENOSYS 38

/*
 * While a system call runs, ax is -ENOSYS, then what it returns; an exception leaves -1 in
 * orig_ax (arch/x86/entry/entry_64.S, PUSH_AND_CLEAR_REGS and idtentry_body).
 */
static __always_inline void read_registers(struct registers *regs, __u64 at)
{
	struct pt_regs *saved = (void *)at;
	/* side by side there, too: arch/x86/include/asm/ptrace.h */
	struct { unsigned long r10, r9, r8, ax, cx, dx, si, di, orig_ax; } call = {};

	bpf_probe_read_kernel(&call, sizeof(call), &saved->r10);
	regs->call = call.orig_ax;
	regs->is_returning = (__s64)call.ax != -ENOSYS;
	regs->ip = BPF_CORE_READ(saved, ip);
	regs->sp = BPF_CORE_READ(saved, sp);
	regs->arguments[0] = call.di;
	regs->arguments[1] = call.si;
	regs->arguments[2] = call.dx;
	regs->arguments[3] = call.r10;
	regs->arguments[4] = call.r8;
	regs->arguments[5] = call.r9;
}

/* Those that a system call's function has as its parameter: plain loads. */
static __always_inline void take_registers(struct registers *regs,
					   const struct pt_regs *saved)
{
	regs->call = saved->orig_ax;
	regs->arguments[0] = saved->di;
	regs->arguments[1] = saved->si;
	regs->arguments[2] = saved->dx;
	regs->arguments[3] = saved->r10;
	regs->arguments[4] = saved->r8;
	regs->arguments[5] = saved->r9;
}

#define FIRST_PARAMETER(saved) BPF_CORE_READ(saved, di)
#define SECOND_PARAMETER(saved) BPF_CORE_READ(saved, si)
#define FOURTH_PARAMETER(saved) BPF_CORE_READ(saved, cx)
#define RESULT(saved) BPF_CORE_READ(saved, ax)

#elif defined(__TARGET_ARCH_arm64)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 orig_x0;
	__s32 syscallno;
};
#pragma clang attribute pop

/* syscallno is NO_SYSCALL, -1, in an exception (arch/arm64/include/asm/ptrace.h). */
static __always_inline void read_registers(struct registers *regs, __u64 at)
{
	struct pt_regs *saved = (void *)at;

	regs->call = BPF_CORE_READ(saved, syscallno);
	regs->is_returning = false;
	regs->ip = BPF_CORE_READ(saved, pc);
	regs->sp = BPF_CORE_READ(saved, sp);
	regs->arguments[0] = BPF_CORE_READ(saved, orig_x0);
	regs->arguments[1] = BPF_CORE_READ(saved, regs[1]);
	regs->arguments[2] = BPF_CORE_READ(saved, regs[2]);
	regs->arguments[3] = BPF_CORE_READ(saved, regs[3]);
	regs->arguments[4] = BPF_CORE_READ(saved, regs[4]);
	regs->arguments[5] = BPF_CORE_READ(saved, regs[5]);
}

static __always_inline void take_registers(struct registers *regs,
					   const struct pt_regs *saved)
{
	regs->call = saved->syscallno;
	regs->arguments[0] = saved->regs[0];
	regs->arguments[1] = saved->regs[1];
	regs->arguments[2] = saved->regs[2];
	regs->arguments[3] = saved->regs[3];
	regs->arguments[4] = saved->regs[4];
	regs->arguments[5] = saved->regs[5];
}

#define FIRST_PARAMETER(saved) BPF_CORE_READ(saved, regs[0])
#define SECOND_PARAMETER(saved) BPF_CORE_READ(saved, regs[1])
#define FOURTH_PARAMETER(saved) BPF_CORE_READ(saved, regs[3])
#define RESULT(saved) BPF_CORE_READ(saved, regs[0])

#else
#error "registers.h knows no such architecture"
#endif

/*
 * One of the arguments, by its bits in `how`; 0 where it has none. Without a branch, for the
 * verifier follows each way that leads on from here; nor by an index into the array, for it
 * allows none that varies on the stack before 01f810ace9ed, "bpf: Allow variable-offset
 * stack access" (5.12).
 */
static __always_inline __u64 argument(const struct registers *regs, __u64 how,
				      enum how_argument which)
{
	__u64 place = how >> (HOW_BITS * which) & 15, value = 0;
	int i;

	for (i = 0; i < 6; i++) {
		__u64 is_it = ((place ^ (i + 1)) - 1) >> 63;

		barrier_var(is_it);
		value |= regs->arguments[i] * is_it;
	}
	return value;
}

static __always_inline bool has_argument(__u64 how, enum how_argument which)
{
	return (how >> (HOW_BITS * which) & 15) != 0;
}

static __always_inline __u64 registers_at(struct task_struct *task)
{
	return (__u64)BPF_CORE_READ(task, stack) + regs_offset;
}

/*
 * Where the registers are depends on the kernel: CONFIG_X86_FRED pads the top of the
 * stack by 16 bytes, CONFIG_KASAN doubles the stack, pages of 64 KiB make it larger on
 * arm64. The program runs this inside bpf(2), a system call whose number is known.
 */
static __always_inline void find_registers(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 stack = (__u64)BPF_CORE_READ(task, stack);
	struct registers regs;
	int i;

	for (i = 0; i < 8; i++) {
		__u64 size = (1ULL << (14 + (i >> 1))) - 16 * (i & 1);
		__u64 offset = size - bpf_core_type_size(struct pt_regs);

		read_registers(&regs, stack + offset);
		if (regs.call == bpf_call)
			regs_offset = offset;
	}
}

#endif
