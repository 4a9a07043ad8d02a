#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will load the module a hundred times with parameters that are refused,
# before the module's init and in it, and show that the kernel keeps no memory for them.
# expects: biodelay: (`none' invalid for parameter `max_holds'|max_holds=1: must be)
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

# MemAvailable would not do: it leaves out the free pages on the lists of each CPU (struct
# per_cpu_pages, mm/page_alloc.c); a run on 6.12 was seen to move 41 MiB there.
kept_kb() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	awk '$1 == "SUnreclaim:" { print $2 }' /proc/meminfo
}

# At most KMALLOC_MAX_CACHE_SIZE (include/linux/slab.h): kmalloc takes slabs, not pages.
bytes=8000
words=$(printf "%0${bytes}d" 0)
given=()
for attribute in device force ops flags_any flags_none submitter kind pid cgroup \
	sectors bytes mode delay seed lanes times; do
	given+=("$attribute=$words")
done
loads=50
most_kib=$((loads * ${#given[@]} * bytes / 1024 / 2)) # half of what it was given

for refused in max_holds=none max_holds=1; do
	before=$(kept_kb)
	for ((i = 0; i < loads; i++)); do
		! insmod "$module" "${given[@]}" "$refused" 2>/dev/null ||
			fail "loaded with $refused"
	done
	kept=$(($(kept_kb) - before))
	echo "$refused: $kept KiB more than before"
	((kept < most_kib)) || fail "$loads refused loads kept $kept KiB"
done
