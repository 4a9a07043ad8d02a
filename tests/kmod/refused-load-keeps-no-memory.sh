#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will have loading refused a hundred times, before the module's init and in
# it, and show that the kernel keeps nothing of what the module was told.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

available_kb() {
	sync
	echo 3 >/proc/sys/vm/drop_caches
	awk '$1 == "MemAvailable:" { print $2 }' /proc/meminfo
}

words=$(printf '%0100000d' 0) # 100 to 128 KiB of the kernel's memory
told=(device="$words" delay="$words" ops="$words" submitter="$words")
for refused in max_holds=none max_holds=1; do
	before=$(available_kb)
	for ((i = 0; i < 50; i++)); do
		! insmod "$module" "${told[@]}" "$refused" 2>/dev/null ||
			fail "loaded with $refused"
	done
	kept=$((before - $(available_kb)))
	echo "$refused: $kept KiB less than before"
	((kept < 50 * 400 / 2)) || fail "50 refused loads kept $kept KiB"
done
quiet_kernel
