/* SPDX-License-Identifier: GPL-2.0-only */
/* hook_entry_arm64.S: call biodelay_hold(), then jump to the original */
#include "compat.h"

/* See hook_entry_x86_64.S, which does the same. */
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
