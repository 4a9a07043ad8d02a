/* SPDX-License-Identifier: GPL-2.0-only */
/* hook_entry_x86_64.S: call biodelay_hold(), then jump to the original */
#include "compat.h"

/*
 * The probed function's caller lands here with its own registers and stack, as
 * if it had called us. The last step is a jump, by hand and not by the
 * compiler's leave: when the probe fires again at the original's entry, no
 * frame of the module is left on that stack, so the mark taken back there
 * proves that the task is out of the module's text. That is what lets unload
 * be fast without waiting for the device.
 */
SYM_FUNC_START(biodelay_entry)
	ENDBR
	pushq	%rbp
	movq	%rsp, %rbp
	pushq	%rdi
	call	biodelay_hold
	popq	%rdi
	popq	%rbp
	jmp	BIODELAY_PROBED
SYM_FUNC_END(biodelay_entry)
