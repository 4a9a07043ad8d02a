/* SPDX-License-Identifier: GPL-2.0-only */
/* json.h: write one event as a line of JSON, docs/events.md */
#ifndef JSON_H
#define JSON_H

#include <stddef.h>
#include <stdint.h>

/* Begin a line with its "ev"; end it. Each field writes a comma before it. */
void json_begin(const char *event);
void json_end(void);
/* How many have been written. */
uint64_t json_lines(void);

void json_number(const char *name, int64_t value);
void json_unsigned(const char *name, uint64_t value);
void json_null(const char *name);
/* null where it is negative, or 0: docs/events.md says which fields may be unknown */
void json_known(const char *name, int64_t value);
void json_id(const char *name, uint64_t id);
/* Any bytes up to `size` or a NUL; what is not UTF-8 becomes U+FFFD. */
void json_text(const char *name, const char *text, size_t size);
void json_text_or_null(const char *name, const char *text);
/* An array of strings, each written by `frame`. */
void json_open(const char *name);
void json_item(const char *text);
void json_close(void);
/* An object in such an array, with its first field. */
void json_object(const char *name, const char *text);
void json_object_end(void);

/* Write out what is buffered, or end the program where that cannot be written. */
void json_flush(void);

#endif
