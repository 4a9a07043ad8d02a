/* SPDX-License-Identifier: GPL-2.0-only */
/* hook_entry_x86_64.S: call biodelay_hold(), then jump to the original */
#include "compat.h"

/*
 * A redirected task enters here with the registers and stack of its call, as if it
 * had called this function. The last step must be a jump, which C does not
 * guarantee: when the probe fires again at the entry of the original, no frame of the
 * module is on the stack, and the handler clears the task's mark, so it is known that
 * the task has left the module's text. Therefore unload need not wait for the
 * device.
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

/*
 * Before 5.7 objtool needs the symbol of a section for its ORC entries (e81e07244325,
 * "objtool: Support Clang non-section symbols in ORC generation"), and writes none without.
 * Since binutils 2.37 a section has that symbol only if something refers to it (d1bcae833b32,
 * "ELF: Don't generate unused section symbols"). Without the entries, the stack of a held
 * task ends in biodelay_entry(). The linker of modules discards this section.
 */
	.pushsection .discard.refers_to_text
	.long	.text - .
	.popsection
