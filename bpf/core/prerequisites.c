// SPDX-License-Identifier: GPL-2.0-only
// prerequisites.c: check BPF's prerequisites; print what is missing and the remedy

#include "prerequisites.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* linux/capability.h */
enum capability { SYS_ADMIN = 21, PERFMON = 38, BPF = 39 };

#define FIRST_SYMBOLS 100	/* the first variable of each CPU may be at 0 */
#define OLDEST_MAJOR 5
#define OLDEST_MINOR 10		/* bpf_prog_test_run of raw tracepoints, 1b4d60ec162f */

/* Effective capabilities (proc(5), CapEff). */
static uint64_t capabilities(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	uint64_t held = 0;
	char line[256];

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "CapEff: %" SCNx64, &held) == 1)
			break;
	}
	if (file)
		fclose(file);
	return held;
}

static bool may(enum capability capability)
{
	return capabilities() >> capability & 1;
}

bool is_admin(void)
{
	return may(SYS_ADMIN);
}

/* kernel_lockdown(7) marks the present one of its levels with brackets. */
static bool is_confidential(void)
{
	FILE *file = fopen("/sys/kernel/security/lockdown", "re");
	char line[256] = "";

	if (!file)
		return false;
	if (!fgets(line, sizeof(line), file))
		line[0] = 0;
	fclose(file);
	return strstr(line, "[confidentiality]");
}

/* kernel/kallsyms.c, kallsyms_show_value(): who may not see addresses reads zeros. */
static bool are_symbols_hidden(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	uint64_t address = 0;

	for (int line = 0; file && !address && line < FIRST_SYMBOLS; line++) {
		if (fscanf(file, "%" SCNx64 "%*[^\n]", &address) != 1)
			break;
	}
	if (file)
		fclose(file);
	return !address;
}

static bool is_old(unsigned int major, unsigned int minor)
{
	return major < OLDEST_MAJOR || (major == OLDEST_MAJOR && minor < OLDEST_MINOR);
}

static void check_release(report_missing *report)
{
	unsigned int major = 0, minor = 0;
	struct utsname kernel;
	char text[256];

	uname(&kernel);
	sscanf(kernel.release, "%u.%u", &major, &minor);
	snprintf(text, sizeof(text), "it needs Linux %d.%d or later, and this is %s;"
		 " use --engine stap", OLDEST_MAJOR, OLDEST_MINOR, kernel.release);
	if (is_old(major, minor))
		report(text);
}

void for_each_missing(report_missing *report)
{
	check_release(report);
	if (access("/sys/kernel/btf/vmlinux", F_OK))
		report("this kernel has no BTF: boot one with CONFIG_DEBUG_INFO_BTF,"
		     " or mount sysfs on /sys");
	if (!may(SYS_ADMIN) && !(may(BPF) && may(PERFMON)))
		report("CAP_BPF and CAP_PERFMON are missing: run it as root on the host,"
		     " or in a container that has both (--cap-add)");
	if (are_symbols_hidden())
		report("/proc/kallsyms has no addresses for this process: add CAP_SYSLOG"
		     " (--cap-add)");
	if (is_confidential())
		report("lockdown=confidentiality keeps BPF from reading the kernel's memory:"
		     " boot with lockdown=integrity");
}
