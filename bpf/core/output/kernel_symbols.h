/* SPDX-License-Identifier: GPL-2.0-only */
/* kernel_symbols.h: name the addresses of the kernel, from /proc/kallsyms */
#ifndef KERNEL_SYMBOLS_H
#define KERNEL_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

/* Read the table; again where the modules have changed, which costs a look at them. */
void symbols_refresh(void);

/* The address of a function or variable, as it was when the table was read; 0: unknown. */
uint64_t symbol_address(const char *name);

/* How many functions have that name, and the address of one. */
unsigned int function_places(const char *name, uint64_t *address);

/* `symbol+0xoff [module]`, or the bare address; valid until the next call. */
const char *symbol_frame(uint64_t address);

#endif
