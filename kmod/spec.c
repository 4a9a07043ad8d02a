// SPDX-License-Identifier: GPL-2.0-only
/* spec.c: parse an attribute into a field of a spec, and print it */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "biodelay.h"

/*
 * set: may modify words; leaves a spec of no use on failure. show: prints without a
 * newline. The other fields are parameters of set and show.
 */
struct attr {
	const char *name;
	int (*set)(const struct attr *attr, struct biodelay_spec *spec,
		   char *words);
	int (*show)(const struct attr *attr, const struct biodelay_spec *spec,
		    char *page);
	size_t offset;
	u64 low;
	u64 high;
	const char *const *names;
	int err;
};

static void *field(const struct attr *attr, const struct biodelay_spec *spec)
{
	return (char *)spec + attr->offset;
}

static int set_device(const struct attr *attr, struct biodelay_spec *spec,
		      char *words)
{
	return biodelay_device_find(&spec->device, words);
}

static int show_device(const struct attr *attr,
		       const struct biodelay_spec *spec, char *page)
{
	const struct biodelay_device *device = &spec->device;

	if (!device->dev)
		return 0;
	return sprintf(page, "%u:%u %s", MAJOR(device->dev),
		       MINOR(device->dev), device->name);
}

static int set_force(const struct attr *attr, struct biodelay_spec *spec,
		     char *words)
{
	if (strlen(words) >= sizeof(spec->force)) {
		pr_err("force='%s': no device's name is that long\n", words);
		return -ENAMETOOLONG;
	}
	strscpy(spec->force, words, sizeof(spec->force));
	return 0;
}

static int show_text(const struct attr *attr, const struct biodelay_spec *spec,
		     char *page)
{
	return sprintf(page, "%s", (char *)field(attr, spec));
}

/*
 * glob_match() accepts any pattern. Refuse those that cannot match as intended: an
 * unclosed bracket, a trailing backslash; without CONFIG_GLOB, either character.
 */
static bool glob_is_whole(const char *glob)
{
	if (!IS_ENABLED(CONFIG_GLOB))
		return !strpbrk(glob, "[\\");
	for (; *glob; glob++) {
		if (*glob == '\\' && !*++glob)
			return false;
		if (*glob != '[')
			continue;
		glob += glob[1] == '!' ? 2 : 1;
		glob = *glob ? strchr(glob + 1, ']') : NULL;
		if (!glob)
			return false;
	}
	return true;
}

static int set_submitter(const struct attr *attr, struct biodelay_spec *spec,
			 char *words)
{
	if (!*words || strlen(words) >= sizeof(spec->submitter) ||
	    !glob_is_whole(words)) {
		pr_err("submitter='%s': not a glob of 1 to %zu characters, %s\n",
		       words, sizeof(spec->submitter) - 1, BIODELAY_GLOBS);
		return -EINVAL;
	}
	if (!strpbrk(words, "*?[\\") && strlen(words) >= TASK_COMM_LEN) {
		pr_err("submitter='%s': longer than any comm (%d characters); end it with *\n",
		       words, TASK_COMM_LEN - 1);
		return -ENAMETOOLONG;
	}
	strscpy(spec->submitter, words, sizeof(spec->submitter));
	return 0;
}

static int refuse_word(const struct attr *attr)
{
	char names[128];

	biodelay_mask_print(attr->names, U32_MAX, "", names, sizeof(names));
	pr_err("%s: known are %s\n", attr->name, names);
	return attr->err;
}

static int set_mask(const struct attr *attr, struct biodelay_spec *spec,
		    char *words)
{
	u32 *mask = field(attr, spec);

	if (!*words && !attr->low) /* an empty list is valid */
		*mask = 0;
	else if (biodelay_mask_parse(attr->names, words, mask))
		return refuse_word(attr);
	return 0;
}

static int show_mask(const struct attr *attr, const struct biodelay_spec *spec,
		     char *page)
{
	return biodelay_mask_print(attr->names, *(u32 *)field(attr, spec), "",
				   page, PAGE_SIZE);
}

static int set_choice(const struct attr *attr, struct biodelay_spec *spec,
		      char *words)
{
	int choice = biodelay_name_index(attr->names, words);

	if (choice < 0)
		return refuse_word(attr);
	*(u32 *)field(attr, spec) = choice;
	return 0;
}

static int show_choice(const struct attr *attr,
		       const struct biodelay_spec *spec, char *page)
{
	return sprintf(page, "%s", attr->names[*(u32 *)field(attr, spec)]);
}

static int set_number(const struct attr *attr, struct biodelay_spec *spec,
		      char *words)
{
	u64 number;
	int err = kstrtou64(words, 10, &number);

	if (err == -EINVAL) {
		pr_err("%s='%s': not a whole number\n", attr->name, words);
		return err;
	}
	if (err || number < attr->low || number > attr->high) {
		pr_err("%s='%s': must be %llu to %llu\n", attr->name, words,
		       attr->low, attr->high);
		return -ERANGE;
	}
	*(u64 *)field(attr, spec) = number;
	return 0;
}

static int show_number(const struct attr *attr,
		       const struct biodelay_spec *spec, char *page)
{
	return sprintf(page, "%llu", *(u64 *)field(attr, spec));
}

/* Parse two numbers separated by @between; the first must not be larger. */
static int parse_pair(const struct attr *attr, char *words,
		      const char *between, u64 *first, u64 *second)
{
	char *left = strsep(&words, between);
	int err = words ? kstrtou64(left, 10, first) ?:
			  kstrtou64(words, 10, second) : -EINVAL;

	if (err)
		pr_err("%s: not two whole numbers with '%s' between them\n",
		       attr->name, between);
	else if (*first > *second)
		err = -EDOM;
	if (err == -EDOM)
		pr_err("%s: the first number must not be above the second\n",
		       attr->name);
	return err;
}

static int set_range(const struct attr *attr, struct biodelay_spec *spec,
		     char *words)
{
	struct biodelay_range parsed = { 0, U64_MAX };
	int err = *words ? parse_pair(attr, words, "-", &parsed.first,
				      &parsed.last) : 0;

	if (!err)
		*(struct biodelay_range *)field(attr, spec) = parsed;
	return err;
}

static int show_range(const struct attr *attr,
		      const struct biodelay_spec *spec, char *page)
{
	const struct biodelay_range *range = field(attr, spec);

	if (range->last == U64_MAX && !range->first)
		return 0;
	return sprintf(page, "%llu-%llu", range->first, range->last);
}

static int set_burst(const struct attr *attr, struct biodelay_spec *spec,
		     char *words)
{
	u64 on, period;
	int err = parse_pair(attr, words, " ", &on, &period);

	if (!err && period > attr->high) {
		pr_err("burst: a period is at most %llu ms\n", attr->high);
		err = -ERANGE;
	}
	if (!err) {
		spec->burst_on_ms = on;
		spec->burst_period_ms = period;
	}
	return err;
}

static int show_burst(const struct attr *attr,
		      const struct biodelay_spec *spec, char *page)
{
	return sprintf(page, "%llu %llu", spec->burst_on_ms,
		       spec->burst_period_ms);
}

static int set_delay(const struct attr *attr, struct biodelay_spec *spec,
		     char *words)
{
	static const char *const says[] = {
		[EINVAL] = "not NS or table PPB:NS ..., as repro/delay-table prints it",
		[ERANGE] = "a delay is at most 30000000000 ns, a share 1000000000 ppb",
		[EDOM] = "quantiles must rise, in a table from 0 to 1000000000 ppb",
		[E2BIG] = "a table has at most 256 points",
	};
	int err = biodelay_delay_parse(&spec->delay, words);

	if (err)
		pr_err("delay: %s\n", says[-err]);
	return err;
}

static int show_delay(const struct attr *attr,
		      const struct biodelay_spec *spec, char *page)
{
	return biodelay_delay_show(&spec->delay, page);
}

static int set_series(const struct attr *attr, struct biodelay_spec *spec,
		      char *words)
{
	static const char *const says[] = {
		[EINVAL] = "not MS PPB:NS ... MS PPB:NS ..., a table after each time",
		[ERANGE] = "a time is at most 4294967295 ms, a delay 30000000000 ns, a share 1000000000 ppb",
		[EDOM] = "times must rise, and so must quantiles, in each table from 0 to 1000000000 ppb",
		[E2BIG] = "at most 2048 times and 8192 points, 64 in a table",
	};
	struct biodelay_series *series;
	int err;

	if (!*words) {
		spec->series = NULL;
		return 0;
	}
	series = kvmalloc(sizeof(*series), GFP_KERNEL);
	if (!series)
		return -ENOMEM;
	biodelay_series_copy(series, spec->series);
	err = biodelay_series_parse(series, words);
	if (err) {
		pr_err("series: %s\n", says[-err]);
		kvfree(series);
		return err;
	}
	spec->series = series;
	return 0;
}

static int show_series(const struct attr *attr,
		       const struct biodelay_spec *spec, char *page)
{
	return spec->series ? biodelay_series_show(spec->series, page) : 0;
}

static int set_delay_us(const struct attr *attr, struct biodelay_spec *spec,
			char *words)
{
	u64 saved = spec->max_delay_us, delay_us;
	int err = set_number(attr, spec, words);

	delay_us = spec->max_delay_us;
	spec->max_delay_us = saved;
	if (!err) {
		spec->delay.count = 1;
		spec->delay.at[0].ppb = 0;
		spec->delay.at[0].ns = delay_us * NSEC_PER_USEC;
	}
	return err;
}

static int show_delay_us(const struct attr *attr,
			 const struct biodelay_spec *spec, char *page)
{
	if (spec->delay.count != 1)
		return 0;
	return sprintf(page, "%llu",
		       div_u64(spec->delay.at[0].ns, NSEC_PER_USEC));
}

/* How attributes are parsed and printed, the second column of attrs.h. */
#define FIELD(name) .offset = offsetof(struct biodelay_spec, name)
#define OWN(name, ...) { #name, set_##name, show_##name, ##__VA_ARGS__ }
#define TEXT(name) { #name, set_##name, show_text, FIELD(name) }
#define RANGE(name) { #name, set_range, show_range, FIELD(name) }
#define NUMBER(name, low_, high_) \
	{ #name, set_number, show_number, FIELD(name), \
	  .low = low_, .high = high_ }
#define CHOICE(name, err_) \
	{ #name, set_choice, show_choice, FIELD(name), \
	  .names = biodelay_##name##_names, .err = err_ }
#define WORDS(name, word, least) \
	{ #name, set_mask, show_mask, FIELD(name), .low = least, \
	  .names = biodelay_##word##_names, .err = -EBADRQC }

#define ROW(name, how, description) how,

static const struct attr attrs[] = { BIODELAY_SPEC_ATTRS(ROW) };

static const struct attr *find_attr(const char *name)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(attrs); i++)
		if (!strcmp(attrs[i].name, name))
			return &attrs[i];
	return NULL;
}

/**
 * biodelay_spec_init() - initialise a spec: all bios, no device, no delay
 * @spec: the spec
 */
void biodelay_spec_init(struct biodelay_spec *spec)
{
	memset(spec, 0, sizeof(*spec));
	spec->ops = BIT(BIODELAY_OPS) - 1;
	spec->sectors.last = U64_MAX;
	spec->bytes.last = U64_MAX;
	spec->order = 1000;
	spec->seed = 1;
	spec->probability = 100;
	spec->interval = 1;
	spec->max_delay_us = BIODELAY_MAX_DELAY_US;
}

/**
 * biodelay_spec_set() - parse an attribute into a spec
 * @spec: a copy that nothing else was written to; to be dropped on failure
 * @name: the attribute's name, one of attrs.h except enabled
 * @value: the text; a trailing newline is ignored
 *
 * Context: may sleep (devices are looked up).
 * Return: 0, or an errno for each mistake, with one line in the log.
 */
int biodelay_spec_set(struct biodelay_spec *spec, const char *name,
		      const char *value)
{
	const struct attr *attr = find_attr(name);
	char *words = kstrdup(value, GFP_KERNEL);
	int err = -ENOMEM;

	if (attr && words)
		err = attr->set(attr, spec, strim(words));
	kfree(words);
	return err;
}

/**
 * biodelay_spec_show() - print an attribute for biodelay_spec_set()
 * @spec: the spec
 * @name: the attribute's name, one of attrs.h except enabled
 * @page: PAGE_SIZE bytes
 *
 * Return: characters printed, without a newline.
 */
int biodelay_spec_show(const struct biodelay_spec *spec, const char *name,
		       char *page)
{
	const struct attr *attr = find_attr(name);

	return attr ? attr->show(attr, spec, page) : 0;
}

/**
 * biodelay_spec_drop() - free a spec that was replaced or refused
 * @spec: the spec
 * @kept: the one that stays, which may have the same series, or NULL
 */
void biodelay_spec_drop(struct biodelay_spec *spec,
			const struct biodelay_spec *kept)
{
	if (!kept || spec->series != kept->series)
		kvfree(spec->series);
	kvfree(spec);
}
