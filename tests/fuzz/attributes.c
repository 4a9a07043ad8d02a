// SPDX-License-Identifier: GPL-2.0-only
/* attributes.c: kmod's attribute parsers as a target of libFuzzer */
#include "shim.h"
#include "biodelay.h"

/*
 * An input is lines NAME=VALUE, written to one rule as configfs writes them, and then
 * the delays of some bios, if the rule could be armed. What a parser accepted must
 * print within a page, and what was printed must be accepted and mean the same.
 */
#define DRAWS 50
#define BIO_BYTES 4096

static u64 now_ns;

u64 ktime_get_ns(void)
{
	return now_ns;
}

/* device.c looks into the kernel's disks; here is one, with a long name. */
int biodelay_device_find(struct biodelay_device *device, const char *name)
{
	struct biodelay_device found = {
		.dev = MKDEV(4095, 0xfffff),
		.name = "a-name-that-fills-the-whole-of-",
	};

	if (strcmp(name, "4095:1048575") && strcmp(name, "vdb"))
		return -ENODEV;
	found.zoned = *name == 'v';
	*device = found;
	return 0;
}

static void require(bool holds, const char *what, const char *name,
		    const char *value)
{
	if (holds)
		return;
	fprintf(stderr, "%s=%.200s: %s\n", name, value, what);
	abort();
}

/* Exactly a page, so that a sanitizer sees what does not fit into one. */
static char *shown(const struct biodelay_spec *spec, const char *name)
{
	char *page = malloc(PAGE_SIZE);
	int n;

	memset(page, 'x', PAGE_SIZE);
	n = biodelay_spec_show(spec, name, page);
	page[n] = '\0';
	return page;
}

static void reads_back(const struct biodelay_spec *spec, const char *name,
		       const char *value)
{
	struct biodelay_spec *again = malloc(sizeof(*again));
	char *page = shown(spec, name), *other;

	memcpy(again, spec, sizeof(*again));
	if (!strcmp(name, "device")) /* NUMBER NAME, of which the number is read */
		page[strcspn(page, " ")] = '\0';
	require(!biodelay_spec_set(again, name, page),
		"what it shows is refused", name, value);
	other = shown(again, name);
	require(!strncmp(page, other, strlen(page)),
		"what it shows is read as something else", name, value);
	free(other);
	free(page);
	biodelay_spec_drop(again, spec);
}

static void draws(struct biodelay_spec *spec)
{
	struct biodelay_rule *rule = calloc(1, sizeof(*rule));
	u64 most_ns = spec->max_delay_us * NSEC_PER_USEC, ns;
	int i;

	biodelay_draws_init(&rule->draws);
	for (i = 0; i < DRAWS; i++, now_ns += NSEC_PER_MSEC) {
		if (!biodelay_draw_whether(rule, spec, BIO_BYTES))
			continue;
		ns = biodelay_draw_delay_ns(rule, spec, now_ns);
		require(ns <= most_ns, "a delay above it", "max_delay_us", "");
	}
	require(!spec->times || rule->draws.times <= spec->times,
		"more bios were delayed", "times", "");
	now_ns = 0;
	free(rule);
}

/* @line: NAME=VALUE; the attribute may be none of a rule's. */
static void write_line(struct biodelay_spec **rule, char *line)
{
	struct biodelay_spec *changed;
	char *value = strchr(line, '=');

	if (!value)
		return;
	*value++ = '\0';
	if (strlen(value) >= PAGE_SIZE) /* configfs refuses what is longer */
		return;
	/* As rule.c: a copy, which is dropped where the text is refused. */
	changed = malloc(sizeof(*changed));
	memcpy(changed, *rule, sizeof(*changed));
	if (biodelay_spec_set(changed, line, value)) {
		biodelay_spec_drop(changed, *rule);
		return;
	}
	biodelay_spec_drop(*rule, changed);
	*rule = changed;
	reads_back(*rule, line, value);
}

#define SHOW(name, how, description) free(shown(rule, #name));

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct biodelay_spec *rule = malloc(sizeof(*rule));
	char *text = malloc(size + 1), *rest = text, *line;

	memcpy(text, data, size);
	text[size] = '\0';
	biodelay_spec_init(rule);
	while ((line = strsep(&rest, "\n")))
		write_line(&rule, line);
	BIODELAY_ATTRS(SHOW)
	if (!biodelay_spec_check(rule))
		draws(rule);
	free(text);
	biodelay_spec_drop(rule, NULL);
	return 0;
}
