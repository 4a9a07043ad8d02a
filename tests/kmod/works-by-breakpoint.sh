#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will run the scripts that test the probe's handler again, with a module that
# probes by breakpoint, as on a kernel without a function tracer (kmod/Kbuild,
# BREAKPOINT). A third argument chooses them: by what a rule does, or what it selects.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"
module=${module%/*}/breakpoint/${module##*/}

insmod "$module"
probe=$(grep -E ' (submit_bio_noacct|generic_make_request)[+]' /sys/kernel/debug/kprobes/list)
[[ $probe != *FTRACE* ]] || fail "probes through the tracer: $probe"
rmmod biodelay

declare -A scripts=(
	[does]="defer-lets-the-submitter-go-on rmmod-while-delaying
		unload-loses-no-deferred-bio survives-probes-switched-off"
	[selects]=selects-only-what-was-named
)
# What a rule selects is decided before its mode: one is enough here.
for script in ${scripts[$3]}; do
	echo "$script"
	bash "$here/$script.sh" "$module" "$disk" sleep || fail "$script"
done
