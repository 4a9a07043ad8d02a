/* SPDX-License-Identifier: GPL-2.0-only */
/* drilling.h: probe the functions of a drill-down, which are named when it starts */
#ifndef DRILLING_H
#define DRILLING_H

#include <stdbool.h>

struct btf;
struct probes;		/* of the skeleton that bpftool makes */

/* `F,F?`; exits where one of them cannot be probed and has no `?` behind it. */
void find_functions(const char *names, const struct btf *btf);

/* Whether the kernel probes many at once: since Linux 5.18, with CONFIG_FPROBE. */
bool probes_many(const struct btf *btf);

/* The root is the last, so that its calls find all others probed. */
void attach_functions(struct probes *probes, bool at_once);
void detach_functions(void);

#endif
