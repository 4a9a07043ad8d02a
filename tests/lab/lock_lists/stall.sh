#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# stall.sh: programs on a disk that becomes slow, to the kernel's lists of who waits for
# what and who holds which lock
#
# record.py starts it in a machine whose kernel has lockdep, with a case of cases.toml in
# its environment. It prints parts of the kernel's log, each below `# snapshot NAME`. It
# ends while the programs run: a file system that is busy or frozen cannot be unmounted.
set -eu
# What the commands of a case know the places by.
export disk=/dev/mapper/slow0 top=/mnt/top below=/mnt/below
# There is no udev: device-mapper's tools make the nodes themselves.
export DM_DISABLE_UDEV=1
: "${make:?}" "${mount:?}" "${work:?}" "${late:?}" "${limited_work?}" "${limit?}"
: "${slow_disks:?}" "${read_delay_ms:?}" "${write_delay_ms:?}"
everyone=/sys/fs/cgroup
limited=$everyone/limited
detector=/proc/sys/kernel/hung_task

delay() { # READ_MS WRITE_MS: how long each request to a slow disk takes from now on
	local n sectors
	for ((n = 0; n < slow_disks; n++)); do
		sectors=$(blockdev --getsz "/dev/ram$n")
		dmsetup load "slow$n" --table \
			"0 $sectors delay /dev/ram$n 0 $1 /dev/ram$n 0 $2"
		dmsetup resume --nolockfs "slow$n"
	done
}

make_disks() { # slow0, slow1, ... on the first disks in memory; quick at first
	local n
	for ((n = 0; n < slow_disks; n++)); do
		dmsetup create "slow$n" --notable
	done
	delay 0 0
}

make_limit() { # a group for the programs that are limited
	echo "+memory +io" >$everyone/cgroup.subtree_control
	mkdir $limited
	(cd $limited && eval "$limit")
}

start() { # GROUP COMMAND: in that group, in the background, whether it works or not
	(
		echo "$BASHPID" >"$1/cgroup.procs"
		set +e
		eval "$2"
	) </dev/null &>/dev/null &
}

once() { # GROUP COMMANDS: start what each line says
	local command
	while read -r command; do
		[[ -z $command ]] || start "$1" "$command"
	done <<<"$2"
}

again() { # GROUP COMMANDS: start what each line says, over and over
	local command
	while read -r command; do
		[[ -z $command ]] || start "$1" "while :; do $command; done"
	done <<<"$2"
}

quiet() { # the detector of hung tasks is silent, and so is the console, which is slow
	echo 0 >${detector}_timeout_secs
	echo 3 >${detector}_check_interval_secs
	dmesg --console-level emerg
}

print_log() { # NAME: what the kernel has said since `dmesg --clear`
	echo "# snapshot $1"
	dmesg
}

snapshot() { # NAME: the tasks that wait, and at once the locks that all tasks hold
	dmesg --clear
	echo w >/proc/sysrq-trigger
	echo d >/proc/sysrq-trigger
	print_log "$1"
}

hung() { # what the detector says of tasks that wait for 6 s and longer
	dmesg --clear
	echo 6 >${detector}_timeout_secs
	sleep 15
	echo 0 >${detector}_timeout_secs
	print_log hung
}

make_disks
mkdir --parents $top $below
eval "$make" >&2
eval "$mount" >&2
mkdir --parents $top/a $top/b $top/c
quiet
[[ -z $limit ]] || make_limit
again $limited "$limited_work"
again $everyone "$work"
sleep 6
delay "$read_delay_ms" "$write_delay_ms"
sleep 5
snapshot 1
sleep 7
snapshot 2
once $everyone "$late"
sleep 8
snapshot 3
hung
snapshot 4
# The machine syncs its disks before it ends.
delay 0 0
