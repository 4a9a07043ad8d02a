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
#include "paths.h"
#include "say.h"

#define NSEC_PER_USEC 1000LL
#define MOST_US 3600000000LL

static const char help[] =
	"usage: stalled-writes [OPTION]...\n"
	"\n"
	"Print the calls of file systems that stall, where they sleep and who wakes them,\n"
	"as JSON lines, until Ctrl-C. Needs no compiler and no files besides itself, but a\n"
	"kernel with BTF (CONFIG_DEBUG_INFO_BTF), Linux 5.10 or later, and root, or the\n"
	"capabilities BPF, PERFMON and SYSLOG.\n"
	"\n"
	"options:\n"
	"  --floor-us US   shortest sleep shown (1000)\n"
	"  --stall-us US   shortest stall (100000)\n"
	"  --io-us US      shortest bio shown (10000)\n"
	"  --pid PID       calls of it and its children\n"
	"  --comm NAME     calls of tasks or processes of that name\n"
	"  --device DEV    calls on its file system: 254:16, /dev/vdb\n"
	"  --path PATH     calls on it, or below that folder\n"
	"  --call C,C      these calls, or groups of them: writes, syncs, reads, names,\n"
	"                  attributes, requests, faults\n"
	"  --output FILE   instead of stdout\n"
	"  --version       print the version of the library, and exit\n"
	"  -h, --help      print this, and exit\n"
	"\n"
	"example: stalled-writes --stall-us 50000 --path /var/lib/etcd --output etcd.jsonl\n";

enum letter {
	FLOOR_US = 256, STALL_US, IO_US, PID, COMM, DEVICE, PATH, CALL, OUTPUT, VERSION,
};

static const struct option table[] = {
	{ "floor-us", required_argument, NULL, FLOOR_US },
	{ "stall-us", required_argument, NULL, STALL_US },
	{ "io-us", required_argument, NULL, IO_US },
	{ "pid", required_argument, NULL, PID },
	{ "comm", required_argument, NULL, COMM },
	{ "device", required_argument, NULL, DEVICE },
	{ "path", required_argument, NULL, PATH },
	{ "call", required_argument, NULL, CALL },
	{ "output", required_argument, NULL, OUTPUT },
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

static const char *comm_given(const char *text)
{
	if (!*text || strlen(text) >= COMM_BYTES)
		die(EXIT_USAGE, "--comm %s: a name has 1 to %d bytes", text, COMM_BYTES - 1);
	return text;
}

static void open_output(const char *path)
{
	if (path && !freopen(path, "we", stdout))
		die(EXIT_FAILED, "--output %s: %s", path, strerror(errno));
}

static bool is_done(int letter)
{
	if (letter == 'h')
		fputs(help, stdout);
	else if (letter == VERSION)
		printf("stalled-writes with libbpf %s\n", libbpf_version_string());
	return letter == 'h' || letter == VERSION;
}

void read_options(int argc, char **argv, struct options *options)
{
	const char *output = NULL, *path = NULL, *device = NULL;
	int letter;

	opterr = 0;
	while ((letter = getopt_long(argc, argv, "h", table, NULL)) != -1) {
		if (is_done(letter))
			exit(0);
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
		case PID:
			options->pid = number("pid", optarg, 1, INT32_MAX);
			break;
		case COMM:
			options->comm = comm_given(optarg);
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
		case OUTPUT:
			output = optarg;
			break;
		default:
			die(EXIT_USAGE, "%s: no such option, or it needs a value; try --help",
			    argv[optind - 1]);
		}
	}
	if (optind < argc)
		die(EXIT_USAGE, "%s: no such argument; try --help", argv[optind]);
	if (device)
		options->device = device_given(device);
	if (path)
		options->inode = inode_given(path, &options->device);
	open_output(output);
}
