// SPDX-License-Identifier: GPL-2.0-only
// log.c: report what went wrong in one line, and end

#include "log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void print(const char *format, va_list values)
{
	fputs("stalled-writes: ", stderr);
	vfprintf(stderr, format, values);
	fputc('\n', stderr);
}

void log_message(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	print(format, values);
	va_end(values);
}

noreturn void die(int status, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	print(format, values);
	va_end(values);
	exit(status);
}
