/* SPDX-License-Identifier: GPL-2.0-only */
/* hook_entry.S: a redirected call to biodelay_hold() and then the original */
#include <linux/linkage.h>

/*
 * The probed function's caller lands here with its own registers and stack, as
 * if it had called us. The last step is a jump, by hand and not by the
 * compiler's leave: when the probe fires again at the original's entry, no
 * frame of the module is left on that stack, so the mark taken back there
 * proves that the task is out of the module's text. That is what lets unload
 * be fast without waiting for the device.
 */

#ifdef CONFIG_X86_64
#include <asm/frame.h>
#if __has_include(<asm/ibt.h>)
#include <asm/ibt.h>
#else
#define ENDBR
#endif

SYM_FUNC_START(biodelay_entry)
	ENDBR
	FRAME_BEGIN
	pushq	%rdi
	call	biodelay_hold
	popq	%rdi
	FRAME_END
	jmp	BIODELAY_PROBED
SYM_FUNC_END(biodelay_entry)

#elif defined(CONFIG_ARM64)

SYM_FUNC_START(biodelay_entry)
	hint	#34	/* bti c */
	stp	x29, x30, [sp, #-32]!
	mov	x29, sp
	str	x0, [sp, #16]
	bl	biodelay_hold
	ldr	x0, [sp, #16]
	ldp	x29, x30, [sp], #32
	b	BIODELAY_PROBED
SYM_FUNC_END(biodelay_entry)

#else
#error "biodelay knows x86-64 and arm64"
#endif
