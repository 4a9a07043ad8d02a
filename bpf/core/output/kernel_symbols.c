// SPDX-License-Identifier: GPL-2.0-only
// kernel_symbols.c: name the addresses of the kernel, from /proc/kallsyms

#include "kernel_symbols.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"

/* FNV-1a */
#define DIGEST_BASIS 14695981039346656037ULL
#define DIGEST_PRIME 1099511628211ULL
#define FRAME_BYTES 600		/* a symbol and a module, KSYM_NAME_LEN each, and more */
#define FRAMES_BITS 10
#define LARGEST_FUNCTION (1 << 20)	/* behind it: a hole between modules */

/* Of text; names are `name` or `name\t[module]`, in one pool. */
struct symbol {
	uint64_t address;
	uint32_t name;
	uint32_t place;		/* of aliases the first one counts */
};

struct module {
	char name[64];		/* MODULE_NAME_LEN is less (linux/module.h) */
	uint64_t start, end;
};

static struct {
	struct symbol *rows;
	size_t count, room;
	char *names;
	size_t used, size;
	struct module *modules;
	size_t module_count;
	uint64_t digest;	/* of the list of modules */
} table;

/* Frames as they were named last: the same ones come again and again. */
static struct frame {
	uint64_t address;
	char text[FRAME_BYTES];
} frames[1 << FRAMES_BITS];

/* Variables and functions that are looked up by name. */
static struct {
	const char *name;
	uint64_t address;
} wanted[] = {
	{ "__per_cpu_offset", 0 }, { "__preempt_count", 0 }, { "aio_fsync_work", 0 },
};

static void *enlarge(void *memory, size_t bytes)
{
	memory = realloc(memory, bytes);
	if (!memory)
		die(1, "no memory for the table of symbols");
	return memory;
}

static int by_address(const void *one, const void *other)
{
	const struct symbol *a = one, *b = other;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->place < b->place ? -1 : a->place > b->place;
}

static void add(uint64_t address, const char *name, size_t length)
{
	if (table.count == table.room) {
		table.room = table.room ? table.room * 5 / 4 : 1 << 16;
		table.rows = enlarge(table.rows, table.room * sizeof(*table.rows));
	}
	if (table.used + length + 1 > table.size) {
		table.size = table.size ? table.size * 5 / 4 : 1 << 21;
		table.names = enlarge(table.names, table.size);
	}
	memcpy(table.names + table.used, name, length);
	table.names[table.used + length] = 0;
	table.rows[table.count] = (struct symbol){ address, table.used, table.count };
	table.used += length + 1;
	table.count++;
}

/* `ffffffff81000000 T _text`, `ffffffffc0000000 t ext4_sync\t[ext4]` */
static void read_line(const char *line, size_t length)
{
	char *rest;
	uint64_t address = strtoull(line, &rest, 16);
	char kind = rest[1];
	const char *name = rest + 3;

	length -= name - line;
	if (length && name[length - 1] == '\n')
		length--;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		if (!wanted[i].address && strlen(wanted[i].name) == length &&
		    !memcmp(wanted[i].name, name, length))
			wanted[i].address = address;
	}
	if (strchr("tTwW", kind))
		add(address, name, length);
}

/*
 * The list of modules. Its digest is of names and addresses alone: use counts change all
 * the time. The end is that of all parts behind the text, so at or behind the text's.
 */
static void read_modules(void)
{
	FILE *file = fopen("/proc/modules", "re");
	uint64_t digest = DIGEST_BASIS;
	struct module row;
	uint64_t size;

	table.module_count = 0;
	while (file && fscanf(file, "%63s %" SCNu64 " %*s %*s %*s %" SCNx64 "%*[^\n]",
			      row.name, &size, &row.start) == 3) {
		row.end = row.start + size;
		for (const char *at = row.name; *at; at++)
			digest = (digest ^ (unsigned char)*at) * DIGEST_PRIME;
		digest = (digest ^ row.start) * DIGEST_PRIME;
		table.modules = enlarge(table.modules,
					(table.module_count + 1) * sizeof(row));
		table.modules[table.module_count++] = row;
	}
	if (file)	/* there is none without CONFIG_MODULES */
		fclose(file);
	table.digest = digest;
}

/* `[ext4]`: behind a module there may be code of BPF, without a symbol. */
static bool is_in_module(const char *brackets, uint64_t address)
{
	size_t length = strlen(brackets) - 2;

	for (size_t i = 0; i < table.module_count; i++) {
		const struct module *row = &table.modules[i];

		if (strlen(row->name) == length && !memcmp(row->name, brackets + 1, length))
			return address >= row->start && address < row->end;
	}
	return true;	/* loaded since, or the table's of BPF itself */
}

static void load(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t length;

	if (!file)
		die(1, "/proc/kallsyms: cannot be read, and stacks need its names");
	table.count = 0;
	table.used = 0;
	memset(frames, 0, sizeof(frames));
	while ((length = getline(&line, &room, file)) > 0)
		read_line(line, length);
	free(line);
	fclose(file);
	qsort(table.rows, table.count, sizeof(*table.rows), by_address);
}

void symbols_refresh(void)
{
	uint64_t known = table.digest;

	read_modules();
	if (!table.count || table.digest != known)
		load();
}

uint64_t symbol_address(const char *name)
{
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		if (!strcmp(wanted[i].name, name))
			return wanted[i].address;
	}
	return 0;
}

unsigned int function_places(const char *name, uint64_t *address)
{
	size_t length = strlen(name);
	unsigned int places = 0;

	for (size_t i = 0; i < table.count; i++) {
		const char *text = table.names + table.rows[i].name;

		if (!strncmp(text, name, length) && strchr("\t", text[length])) {
			*address = table.rows[i].address;
			places++;
		}
	}
	return places;
}

/* The last symbol at or before an address, the first of its aliases. */
static const struct symbol *find(uint64_t address)
{
	size_t low = 0, high = table.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table.rows[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	low--;
	while (low && table.rows[low - 1].address == table.rows[low].address)
		low--;
	return &table.rows[low];
}

static void write_frame(uint64_t address, char text[FRAME_BYTES])
{
	const struct symbol *symbol = find(address);
	const char *name = symbol ? table.names + symbol->name : "";
	const char *module = strchr(name, '\t');
	uint64_t offset = symbol ? address - symbol->address : 0;

	if (!symbol || offset > LARGEST_FUNCTION ||
	    (module && !is_in_module(module + 1, address)))
		snprintf(text, FRAME_BYTES, "0x%" PRIx64, address);
	else if (module)
		snprintf(text, FRAME_BYTES, "%.*s+0x%" PRIx64 " %s",
			 (int)(module - name), name, offset, module + 1);
	else
		snprintf(text, FRAME_BYTES, "%s+0x%" PRIx64, name, offset);
}

const char *symbol_frame(uint64_t address)
{
	struct frame *frame = &frames[address * DIGEST_PRIME >> (64 - FRAMES_BITS)];

	if (frame->address != address || !frame->text[0]) {
		write_frame(address, frame->text);
		frame->address = address;
	}
	return frame->text;
}
