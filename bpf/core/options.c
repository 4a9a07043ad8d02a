// SPDX-License-Identifier: GPL-2.0-only
// options.c: read the command line

#include "options.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "prerequisites.h"
#include "output/json.h"
#include "paths.h"
#include "log.h"
#include "scripts.h"

#define NSEC_PER_USEC 1000LL
#define MOST_US 3600000000LL
#define MOST_SERIES_MS 60000
#define MOST_CALLS_MIB 4096

static const char help[] =
	"usage: stalled-writes [OPTION]... [SCRIPT]\n"
	"\n"
	"Print what stalls in file systems as JSON lines, until Ctrl-C. Needs no compiler\n"
	"and no files besides itself, but a kernel with BTF (CONFIG_DEBUG_INFO_BTF), Linux\n"
	"5.10 or later, and root, or the capabilities BPF, PERFMON and SYSLOG.\n"
	"\n"
	"scripts:\n"
	"  stalled_writes   calls that stall, where they sleep and who wakes them; the one\n"
	"                   that is taken where none is given\n"
	"  slow_writes      slow calls of write(2) and fsync(2), timed from entry to return\n"
	"  page_locks       waits for a page, its holder and the sleeps of the holder\n"
	"  journal_commits  jbd2's commits, their phases, handles and sleeps\n"
	"  drilldown        slow calls of a function, and the time of others inside them\n"
	"\n"
	"options:\n"
	"  --floor-us US   shortest sleep shown (1000)\n"
	"  --stall-us US   shortest stall (100000)\n"
	"  --io-us US      shortest bio shown (10000)\n"
	"  --series-ms MS  shorter bios, too: how many of each latency ended in each MS\n"
	"  --calls-mib MIB every call, too, for a replay, up to MIB of them\n"
	"  --pid PID       only calls of this process and its children\n"
	"  --comm NAME     calls of tasks or processes of that name\n"
	"  --waits PID     interruptible sleeps of it and its children, too\n"
	"  --waits-comm NAME  the same of tasks or processes of that name\n"
	"  --device DEV    only calls on this disk's file system: 254:16, /dev/vdb\n"
	"  --path PATH     only calls on this file, or below this folder\n"
	"  --call C,C      these calls, or groups of them: writes, syncs, reads, names,\n"
	"                  attributes, requests, faults\n"
	"  --functions F,F  the function whose slow calls are shown, then those inside it;\n"
	"                  F? is left out where it cannot be probed\n"
	"  --output FILE   instead of stdout\n"
	"  --check         print the missing prerequisites as JSON, and exit\n"
	"  --version       print the version of the library, and exit\n"
	"  -h, --help      print this, and exit\n"
	"\n"
	"example: stalled-writes --stall-us 50000 --path /var/lib/etcd --output etcd.jsonl\n";

enum letter {
	FLOOR_US = 256, STALL_US, IO_US, SERIES_MS, CALLS_MIB, PID, COMM, WAITS, WAITS_COMM, DEVICE,
	PATH, CALL, FUNCTIONS, OUTPUT, CHECK, VERSION,
};

static const struct option table[] = {
	{ "floor-us", required_argument, NULL, FLOOR_US },
	{ "stall-us", required_argument, NULL, STALL_US },
	{ "io-us", required_argument, NULL, IO_US },
	{ "series-ms", required_argument, NULL, SERIES_MS },
	{ "calls-mib", required_argument, NULL, CALLS_MIB },
	{ "pid", required_argument, NULL, PID },
	{ "comm", required_argument, NULL, COMM },
	{ "waits", required_argument, NULL, WAITS },
	{ "waits-comm", required_argument, NULL, WAITS_COMM },
	{ "device", required_argument, NULL, DEVICE },
	{ "path", required_argument, NULL, PATH },
	{ "call", required_argument, NULL, CALL },
	{ "functions", required_argument, NULL, FUNCTIONS },
	{ "output", required_argument, NULL, OUTPUT },
	{ "check", no_argument, NULL, CHECK },
	{ "version", no_argument, NULL, VERSION },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static int64_t number(const char *name, const char *text, int64_t least, int64_t most)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || end == text || *end || value < least || value > most)
		die(EXIT_USAGE, "--%s %s: give a number from %lld to %lld", name, text,
		    (long long)least, (long long)most);
	return value;
}

static int64_t duration(const char *name, const char *text)
{
	return number(name, text, 0, MOST_US) * NSEC_PER_USEC;
}

static int32_t pid_given(const char *option, const char *text)
{
	return number(option, text, 1, INT32_MAX);
}

static const char *comm_given(const char *option, const char *text)
{
	if (!*text || strlen(text) >= COMM_BYTES)
		die(EXIT_USAGE, "--%s %s: a name has 1 to %d bytes", option, text,
		    COMM_BYTES - 1);
	return text;
}

static void open_output(const char *path)
{
	if (path && !freopen(path, "we", stdout))
		die(EXIT_FAILED, "--output %s: %s", path, strerror(errno));
}

static void print_missing(void)
{
	json_begin("check");
	json_open("missing");
	for_each_missing(json_item);
	json_close();
	json_end();
	json_flush();
}

static bool is_done(int letter)
{
	if (letter == 'h')
		fputs(help, stdout);
	else if (letter == VERSION)
		printf("stalled-writes with libbpf %s\n", libbpf_version_string());
	else if (letter == CHECK)
		print_missing();
	return letter == 'h' || letter == VERSION || letter == CHECK;
}

/* The options that not every script has. */
static const struct {
	enum letter letter;
	enum option_kind kind;
} restricted[] = {
	{ FLOOR_US, ABOUT_SLEEPS }, { STALL_US, ABOUT_STALLS }, { IO_US, ABOUT_IOS },
	{ SERIES_MS, ABOUT_IOS }, { CALLS_MIB, ABOUT_IOS },
	{ PID, ABOUT_TASKS }, { COMM, ABOUT_TASKS }, { DEVICE, ABOUT_CALLS },
	{ PATH, ABOUT_CALLS }, { CALL, ABOUT_CALLS }, { WAITS, ABOUT_WAITS },
	{ WAITS_COMM, ABOUT_WAITS }, { FUNCTIONS, ABOUT_FUNCTIONS },
};

static const char *name_of(enum letter letter)
{
	const struct option *row = table;

	while (row->name && row->val != (int)letter)
		row++;
	return row->name;
}

/* `given` has a bit for each letter. Limits that a script has not are 0. */
static void check_script(struct options *options, unsigned int given)
{
	for (size_t i = 0; i < sizeof(restricted) / sizeof(*restricted); i++) {
		enum letter letter = restricted[i].letter;

		if (given >> (letter - FLOOR_US) & 1 &&
		    !has_option(options->script, restricted[i].kind))
			die(EXIT_USAGE, "%s has no --%s", script_name(options->script),
			    name_of(letter));
	}
	if (has_option(options->script, ABOUT_FUNCTIONS) && !options->functions)
		die(EXIT_USAGE, "%s needs --functions", script_name(options->script));
	if (!has_option(options->script, ABOUT_SLEEPS))
		options->limits.floor_ns = 0;
	if (!has_option(options->script, ABOUT_STALLS))
		options->limits.stall_ns = 0;
}

void read_options(int argc, char **argv, struct options *options)
{
	const char *output = NULL, *path = NULL, *device = NULL;
	unsigned int given = 0;
	int letter;

	opterr = 0;
	while ((letter = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		if (is_done(letter))
			exit(0);
		given |= letter >= FLOOR_US ? 1U << (letter - FLOOR_US) : 0;
		switch (letter) {
		case FLOOR_US:
			options->limits.floor_ns = duration("floor-us", optarg);
			break;
		case STALL_US:
			options->limits.stall_ns = duration("stall-us", optarg);
			break;
		case IO_US:
			options->limits.io_ns = duration("io-us", optarg);
			break;
		case SERIES_MS:
			options->series_ns = number("series-ms", optarg, 1, MOST_SERIES_MS) *
				1000000;
			break;
		case CALLS_MIB:
			options->calls_bytes = number("calls-mib", optarg, 1, MOST_CALLS_MIB)
				<< 20;
			break;
		case PID:
			options->pid = pid_given("pid", optarg);
			break;
		case COMM:
			options->comm = comm_given("comm", optarg);
			break;
		case WAITS:
			options->waits_pid = pid_given("waits", optarg);
			break;
		case WAITS_COMM:
			options->waits_comm = comm_given("waits-comm", optarg);
			break;
		case DEVICE:
			device = optarg;
			break;
		case PATH:
			path = optarg;
			break;
		case CALL:
			check_calls(optarg);
			options->calls = optarg;
			break;
		case FUNCTIONS:
			options->functions = optarg;
			break;
		case OUTPUT:
			output = optarg;
			break;
		default:
			die(EXIT_USAGE, "%s: no such option, or it needs a value; try --help",
			    argv[optind - 1]);
		}
	}
	if (optind < argc)
		options->script = script_named(argv[optind++]);
	if (optind < argc)
		die(EXIT_USAGE, "%s: one script at a time; try --help", argv[optind]);
	check_script(options, given);
	if (device)
		options->device = device_given(device);
	if (path)
		options->inode = inode_given(path, &options->device);
	open_output(output);
}
