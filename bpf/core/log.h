/* SPDX-License-Identifier: GPL-2.0-only */
/* log.h: report what went wrong in one line, and end */
#ifndef LOG_H
#define LOG_H

#include <stdnoreturn.h>

enum exit_status { EXIT_FAILED = 1, EXIT_USAGE = 2 };

#define PRINTF_LIKE(at) __attribute__((format(printf, at, (at) + 1)))

/* On stderr, behind the program's name. */
void log_message(const char *format, ...) PRINTF_LIKE(1);
noreturn void die(int status, const char *format, ...) PRINTF_LIKE(2);

#endif
