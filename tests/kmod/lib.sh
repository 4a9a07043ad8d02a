#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# lib.sh: functions of the module tests: a mounted disk, the module, a verdict
#
# Sourced by a test with the module's path and a scratch disk as its arguments.
# shellcheck shell=bash disable=SC2034
set -eu

module=$1
disk=$2
disk_name=${disk##*/}
here=$(dirname "${BASH_SOURCE[0]}")
mount_point=/tmp/biodelay-test
debugfs=/sys/kernel/debug/biodelay
params=/sys/module/biodelay/parameters

fail() { # MESSAGE...: end the test, red
	printf 'FAIL: %s\n' "$*" >&2
	exit 1
}

check() { # WHAT COMMAND...: fail unless COMMAND succeeds
	local what=$1
	shift
	"$@" || fail "$what"
}

status() { # KEY: its value in the module's status
	awk -v key="$1" '$1 == key { print $2 }' "$debugfs/status"
}

rules=/sys/kernel/config/biodelay

rule() { # NAME ATTRIBUTE=WORDS...: make the rule, or change it
	local name=$1 pair
	shift
	[[ -d $rules/$name ]] || mkdir "$rules/$name"
	for pair in "$@"; do
		echo "${pair#*=}" >"$rules/$name/${pair%%=*}" ||
			fail "$name: $pair was refused"
	done
}

record() { # the record so far, emptied
	cat "$debugfs/record"
}

since() { # VERSION: whether the kernel is that one or newer
	printf '%s\n' "$1" "$(uname --kernel-release)" | sort --version-sort --check=quiet
}

mounts() { # KIND: whether the kernel has that file system, which one of somebody's own need not
	modprobe --quiet "$1" || true
	grep --quiet --word-regexp "$1" /proc/filesystems || {
		echo "no $1 in this kernel: not asked"
		return 1
	}
}

loaded() { [[ -d /sys/module/biodelay ]]; }

unload() { # the ms its system call took
	python3 "$here/unload.py" biodelay
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }

writer_pid=
appender() { # SECONDS: 200 bytes every ms to $mount_point/log, slowest in ms
	python3 "$here/appender.py" "$mount_point/log" "$1"
}

cleanup() {
	[[ -z $writer_pid ]] || kill "$writer_pid" 2>/dev/null || true
	! loaded || rmdir "$rules"/*/ 2>/dev/null || true
	! loaded || rmmod biodelay || true
	! mountpoint --quiet "$mount_point" || umount "$mount_point"
}
trap cleanup EXIT

# Without inode tables that the kernel writes later, behind a delay (tests/scripts/lab.py).
mounted() { # a fresh ext4 on the scratch disk, committing every second
	mkfs.ext4 -q -F -E lazy_itable_init=0 "$disk"
	mkdir --parents "$mount_point"
	mount -o commit=1 "$disk" "$mount_point"
	# Short intervals: dirty pages are written every second.
	echo 100 >/proc/sys/vm/dirty_writeback_centisecs
	echo 200 >/proc/sys/vm/dirty_expire_centisecs
}
