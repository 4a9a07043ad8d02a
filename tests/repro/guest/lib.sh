# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # its users name them
# lib.sh: start runs that must end in a given way, and check what they leave behind
#
# Arguments of a guest test go to every repro/run it starts: --build DIR,
# --engine ENGINE.

DISK=/dev/vdb
SYSCTLS=(vm.dirty_writeback_centisecs vm.dirty_expire_centisecs)
TREE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
WORK=$(mktemp --directory /tmp/test-XXXXXX)
failures=0

say() {
	printf '%s\n' "$*"
}

failed() {
	failures=$((failures + 1))
	say "FAILED: $*"
}

# expect WHAT ACTUAL WANTED
expect() {
	[[ $2 == "$3" ]] || failed "$1: '$2', want '$3'"
}

# expect_match WHAT ACTUAL GLOB
expect_match() {
	# shellcheck disable=SC2053 # the third argument is a pattern
	[[ $2 == $3 ]] || failed "$1: '$2', want a match of '$3'"
}

settings_now() {
	sysctl --values "${SYSCTLS[@]}" | tr '\n' ' '
}

settings_before=$(settings_now)

# What a run must not leave behind, one line each; empty is good.
leftovers() {
	grep --fixed-strings writestall-mnt- /proc/mounts
	grep --extended-regexp '^(biodelay|stap_|stalled_writes)' /proc/modules
	pgrep --list-full 'latwriter|stapio|staprun|stalled-writes'
	find /tmp /dev/shm -maxdepth 1 -name 'writestall-mnt-*' \
		-o -name 'writestall-run-*'
	[[ $(settings_now) == "$settings_before" ]] ||
		say "sysctls: $(settings_now)"
}

expect_nothing_left() {
	expect "$1: left behind" "$(leftovers)" ""
}

# manifest RUN KEY...: a value of the manifest
manifest() {
	python3 -c '
import json, sys
value = json.load(open(sys.argv[1] + "/manifest.json"))
for key in sys.argv[2:]:
    value = value[key]
print(value)' "$@"
}

# wait_for_line FILE PATTERN: until a background run has printed it
wait_for_line() {
	local tries
	for ((tries = 0; tries < 1200; tries++)); do
		! grep --quiet -- "$2" "$1" || return 0
		sleep 0.1
	done
	failed "no '$2' in $1 after 120 s: $(tail --lines 3 "$1")"
	return 1
}

verdict() {
	say "$failures failures"
	exit $((failures > 0))
}
