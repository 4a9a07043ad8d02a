#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will load the module a hundred times with parameters that are refused,
# before the module's init and in it, and show that the kernel keeps no memory for them.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

available_kb() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo
}

# Enough to exceed the free pages that each CPU keeps for itself.
words=$(printf '%0100000d' 0)
told=()
for attribute in device force ops flags_any flags_none submitter kind pid cgroup \
	sectors bytes mode delay seed lanes times; do
	told+=("$attribute=$words")
done
loads=50
most_kib=$((loads * ${#told[@]} * 100000 / 1024 / 2)) # half of what it was told

for refused in max_holds=none max_holds=1; do
	before=$(available_kb)
	for ((i = 0; i < loads; i++)); do
		! insmod "$module" "${told[@]}" "$refused" 2>/dev/null ||
			fail "loaded with $refused"
	done
	kept=$((before - $(available_kb)))
	echo "$refused: $kept KiB less than before"
	((kept < most_kib)) || fail "$loads refused loads kept $kept KiB"
done
quiet_kernel
