// SPDX-License-Identifier: GPL-2.0-only
// preempt_count.c: find the count that distinguishes an interrupt from a task

#include "preempt_count.h"

#include "rows.h"

#ifdef __x86_64__

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "output/kernel_symbols.h"
#include "probes.skel.h"
#include "log.h"

/* Give a program the id of the variable's type; the kernel knows its address. */
static int set_variable(struct bpf_program *program, int id)
{
	size_t count = bpf_program__insn_cnt(program);
	struct bpf_insn *copy = calloc(count, sizeof(*copy));
	int error;

	if (!copy)
		return -ENOMEM;
	memcpy(copy, bpf_program__insns(program), count * sizeof(*copy));
	for (size_t i = 0; i < count; i++) {
		if (copy[i].code == (BPF_LD | BPF_IMM | BPF_DW) &&
		    copy[i].imm == VARIABLE_TO_SET) {
			copy[i].src_reg = BPF_PSEUDO_BTF_ID;
			copy[i].imm = id;
		}
	}
	error = bpf_program__set_insns(program, copy, count);
	free(copy);
	return error;
}

/* All that ask for a context; 0, or what is wrong. */
static int set_in_programs(struct probes *probes, int id)
{
	struct bpf_program *program;
	int error = 0;

	bpf_object__for_each_program(program, probes->obj)
		error = error ? error : set_variable(program, id);
	return error;
}

/* The kernel, too, finds a variable's address there (kernel/bpf/verifier.c). */
void check_kernel_variables(void)
{
	symbols_refresh();
	if (!symbol_address("__per_cpu_offset"))
		die(EXIT_FAILED, "/proc/kallsyms has no variables, and without them it is not"
		    " seen who wakes: boot a kernel with CONFIG_KALLSYMS_ALL");
}

/*
 * A variable of each CPU (probes/sleeps.h). Where the BTF lacks it, as in Debian's 5.10,
 * it is read at its address, and the table of symbols before that.
 */
void find_preempt_count(struct probes *probes, const struct btf *btf)
{
	static const char *const names[] = { "pcpu_hot", "__preempt_count" };
	struct probes__rodata *settings = probes->rodata;

	for (int i = 0; i < 2 && !settings->has_typed_count; i++) {
		int id = btf__find_by_name_kind(btf, names[i], BTF_KIND_VAR);

		settings->has_typed_count = id > 0 && !set_in_programs(probes, id);
	}
	if (settings->has_typed_count)
		return;
	check_kernel_variables();
	settings->per_cpu_offsets_at = symbol_address("__per_cpu_offset");
	settings->preempt_count_at = symbol_address("__preempt_count");
}

#else

/* It is in the task itself. */
void find_preempt_count(struct probes *probes, const struct btf *btf)
{
	(void)probes;
	(void)btf;
}

void check_kernel_variables(void)
{
}

#endif
