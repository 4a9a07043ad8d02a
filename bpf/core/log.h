/* SPDX-License-Identifier: GPL-2.0-only */
/* say.h: report what went wrong in one line, and end */
#ifndef SAY_H
#define SAY_H

#include <stdnoreturn.h>

enum exit_status { EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define PRINTF_LIKE(at) __attribute__((format(printf, at, (at) + 1)))

/* On stderr, behind the program's name. */
void say(const char *format, ...) PRINTF_LIKE(1);
noreturn void die(int status, const char *format, ...) PRINTF_LIKE(2);

#endif
