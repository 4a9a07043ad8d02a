// SPDX-License-Identifier: GPL-2.0-only
// calls.c: know the calls of a file system, docs/calls.toml

#include "calls.h"

#include <asm/unistd.h>
#include <stddef.h>
#include <string.h>

#include "log.h"

static const struct call calls[] = {
#include "call_table.h"
};

#define COUNT (sizeof(calls) / sizeof(*calls))

_Static_assert(COUNT <= MOST_CALLS, "MOST_CALLS");

const struct call *call_of_number(int64_t number)
{
	for (size_t i = 0; i < COUNT; i++) {
		if (calls[i].number == number)
			return &calls[i];
	}
	return NULL;
}

/* read(2), write(2) and those at an offset, which have one buffer and one file. */
static bool is_transfer(const struct call *call)
{
	return (call->keep == KEEP_READ || call->keep == KEEP_WRITE) &&
		call->argument[HOW_BYTES] && !call->argument[HOW_ALSO];
}

static uint64_t how_of(const struct call *call)
{
	uint64_t how = HOW_KNOWN;

	for (int i = 0; i < HOW_ARGUMENTS; i++)
		how |= (uint64_t)call->argument[i] << (HOW_BITS * i);
	how |= call->position ? HOW_POSITION : 0;
	how |= call->stack ? HOW_STACK : 0;
	how |= call->shared ? HOW_SHARED : 0;
	how |= call->flushes ? HOW_FLUSHES : 0;
	how |= is_transfer(call) ? HOW_TRANSFER : 0;
	how |= (uint64_t)call->keep << HOW_KEEP;
	return how | (call->address ? HOW_ADDRESS : 0);
}

static bool is_word(const char *name, const char *word, size_t length)
{
	return strlen(name) == length && !strncmp(name, word, length);
}

static bool is_named(const struct call *call, const char *word, size_t length)
{
	return is_word(call->name, word, length) || is_word(call->group, word, length);
}

void check_calls(const char *words)
{
	while (*words) {
		size_t length = strcspn(words, ",");
		bool found = false;

		for (size_t i = 0; i < COUNT; i++)
			found |= is_named(&calls[i], words, length);
		if (!found)
			die(EXIT_USAGE, "--call %.*s: no call of a file system, nor a group:"
			    " writes, syncs, reads, names, attributes, sockets, requests,"
			    " faults",
			    (int)length, words);
		words += length + (words[length] == ',');
	}
}

static bool is_chosen(const struct call *call, const char *words)
{
	while (*words) {
		size_t length = strcspn(words, ",");

		if (is_named(call, words, length))
			return true;
		words += length + (words[length] == ',');
	}
	return false;
}

void for_chosen_calls(enum script script, const char *words,
		      void (*take)(const struct call *call, uint64_t how, void *data),
		      void *data)
{
	for (size_t i = 0; i < COUNT; i++) {
		if (script == SLOW_WRITES && !calls[i].exact)
			continue;
		if (!words || is_chosen(&calls[i], words))
			take(&calls[i], how_of(&calls[i]), data);
	}
}
