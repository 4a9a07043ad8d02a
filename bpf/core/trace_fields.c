// SPDX-License-Identifier: GPL-2.0-only
// trace_fields.c: find the fields of jbd2's tracepoints in their records

#include "trace_fields.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define AT(field) offsetof(struct jbd2_fields, field)

static const struct {
	const char *event, *field;
	size_t at;
} wanted[] = {
	{ "jbd2_start_commit", "dev", AT(commit_dev) },
	{ "jbd2_start_commit", "transaction", AT(commit_transaction) },
	{ "jbd2_end_commit", "dev", AT(end_dev) },
	{ "jbd2_end_commit", "transaction", AT(end_transaction) },
	{ "jbd2_run_stats", "dev", AT(stats_dev) },
	{ "jbd2_run_stats", "tid", AT(stats_transaction) },
	{ "jbd2_run_stats", "handle_count", AT(stats_handles) },
	{ "jbd2_run_stats", "blocks", AT(stats_blocks) },
	{ "jbd2_run_stats", "blocks_logged", AT(stats_logged) },
	{ "jbd2_handle_stats", "dev", AT(handle_dev) },
	{ "jbd2_handle_stats", "tid", AT(handle_transaction) },
	{ "jbd2_handle_stats", "dirtied_blocks", AT(handle_blocks) },
};

static const char *tracefs(void)
{
	static const char *const roots[] = {
		"/sys/kernel/tracing", "/sys/kernel/debug/tracing",
	};
	char path[64];

	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
		snprintf(path, sizeof(path), "%s/events", roots[i]);
		if (!access(path, F_OK))
			return roots[i];
	}
	return roots[0];
}

/* `\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;` */
static bool read_line(const char *line, const char *field, unsigned int *offset)
{
	char declared[128];
	const char *name;

	if (sscanf(line, " field:%127[^;]; offset:%u;", declared, offset) != 2)
		return false;
	name = strrchr(declared, ' ');
	return name && !strcmp(name + 1, field);
}

static bool find_field(const char *event, const char *field, unsigned int *offset)
{
	char path[128], line[256];
	bool found = false;
	FILE *file;

	snprintf(path, sizeof(path), "%s/events/jbd2/%s/format", tracefs(), event);
	file = fopen(path, "re");
	while (file && !found && fgets(line, sizeof(line), file))
		found = read_line(line, field, offset);
	if (file)
		fclose(file);
	return found;
}

bool find_jbd2_fields(struct jbd2_fields *fields)
{
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		unsigned int *offset = (void *)((char *)fields + wanted[i].at);

		if (!find_field(wanted[i].event, wanted[i].field, offset))
			return false;
	}
	return true;
}
