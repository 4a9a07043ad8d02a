#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# guest.sh: the machine's process 1: the job that came along to a verdict
#
# /run/job holds argv (NUL-separated), cwd, shares (TAG DIR MODE per line),
# mode (command or shell), terminal (the size of the caller's) and perhaps compiler
# (the name by which the kernel's headers call it). The verdict goes out on a port of
# its own, last; `begun` is said there before the job.
set -u
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root LC_ALL=C.UTF-8 TERM=${TERM:-vt100}
sync_s=30 # what a disk that the job left stuck may cost

port() { # NAME: the device of the virtio-serial port with that name
	local entry
	for entry in /sys/class/virtio-ports/*; do
		if [[ $(<"$entry/name") == "$1" ]]; then
			printf '/dev/%s' "${entry##*/}"
			return
		fi
	done
}

mounts() {
	mkdir --parents /dev/pts /dev/shm
	mount -t devpts devpts /dev/pts
	mount -t tmpfs shm /dev/shm
	mount -t tmpfs tmp /tmp
	mount -t debugfs debugfs /sys/kernel/debug
	mount -t tracefs tracefs /sys/kernel/tracing
	ln --symbolic --force /proc/self/fd /dev/fd
	local tag folder mode cache
	while read -r tag folder mode; do
		mkdir --parents "$folder"
		# A command's folders stand still while it runs; a person edits them.
		cache=none
		[[ $mode == rw || $(</run/job/mode) == shell ]] || cache=loose
		mount -t 9p -o "trans=virtio,version=9p2000.L,msize=262144,cache=$cache,$mode" \
			"$tag" "$folder"
	done </run/job/shares
}

settings() {
	hostname writestall
	printf '%s\n' "127.0.0.1 localhost writestall" "::1 localhost" >/etc/hosts
	ip link set lo up
	[[ ! -e /run/job/compiler ]] || ln --symbolic gcc "/usr/bin/$(</run/job/compiler)"
	mount -t configfs configfs /sys/kernel/config
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
	# Everything a splat prints reaches the console, hung tasks' stacks too,
	# which are KERN_INFO (kernel/sched/core.c, sched_show_task()).
	echo 7 >/proc/sys/kernel/printk
	echo 60 >/proc/sys/kernel/hung_task_timeout_secs
	echo -1 >/proc/sys/kernel/hung_task_warnings
}

# Before 5.4, 50ee7529ec45 ("random: try to actively add entropy rather than passively
# wait for it"), getrandom(2) waits for interrupts, and the machine has few: credit the
# host's random bytes (drivers/char/random.c, RNDADDENTROPY). The first read of
# /dev/urandom moves them to its pool.
seed() {
	[[ $(uname --kernel-release) =~ ^(4|5\.[0-3])\. ]] || return
	python3 -c '
import fcntl, os, struct
seed = open("/run/job/random", "rb").read()
info = struct.pack("=ii", 8 * len(seed), len(seed)) + seed
fcntl.ioctl(os.open("/dev/random", os.O_WRONLY), 0x40085203, info)
open("/dev/urandom", "rb").read(len(seed))'
}

begin() { # TERMINAL: go to the folder where the job starts, or say there why not
	local folder
	folder=$(</run/job/cwd)
	cd "$folder" && return
	echo "vm: no folder $folder in the machine to start in: name another by --cwd" \
		>"$1"
	return 125
}

run_command() {
	local -a argv
	mapfile -d '' -t argv </run/job/argv
	begin "$(port stderr)" || return
	setsid --wait "${argv[@]}" \
		</dev/null >"$(port stdout)" 2>"$(port stderr)"
}

run_shell() {
	begin /dev/hvc0 || return
	# A console that nobody holds open forgets its size, so its shell sets it.
	# The status of a person's last command is no verdict on the machine.
	setsid --wait --ctty \
		bash -c "stty $(</run/job/terminal); exec bash --login" \
		</dev/hvc0 >/dev/hvc0 2>&1 || true
}

# The level of a line decides on the verdict, and the console does not show it. What the
# kernel says while it is read goes out at once: a machine that is lost cannot tell later.
tell_log() {
	exec 5>"$(port log)"
	echo "<6>guest.sh: the job begins" >/dev/kmsg
	# Bits 4, 5, 7, 9 and 14 (Documentation/admin-guide/tainted-kernels.rst): machine
	# check, bad page, oops, warning, soft lockup.
	local tainted
	tainted=$(</proc/sys/kernel/tainted)
	((!(tainted & 0x42b0))) ||
		echo "<4>guest.sh: the kernel is tainted before the job: $tainted" >/dev/kmsg
	# A read fails where lines were overwritten; another begins at the oldest that is left.
	while :; do
		cat /dev/kmsg >&5
		sleep 1
	done 2>/dev/null &
}

# Once more from its start, now without waiting for what comes.
end_log() {
	echo "<6>guest.sh: the job has ended" >/dev/kmsg
	dd if=/dev/kmsg bs=64k iflag=nonblock status=none >&5 2>/dev/null
}

mounts
settings
seed
tell_log
read -r boot_s _ </proc/uptime
exec 3>"$(port verdict)"
echo begun >&3
"run_$(</run/job/mode)" 3>&- 5>&-
status=$?
# The power goes while this script waits, and disks go before it: what waits is a
# builtin that has run once, for a program would be read from the root disk.
mkfifo /run/synced
exec 4<>/run/synced
{ sync && echo; } >&4 &
read -r -t "$sync_s" <&4 ||
	echo "guest.sh: a disk is stuck: what was written to it may be lost" \
		>"$(port stderr)"
end_log
printf '{"status": %d, "boot_s": %s}\n' "$status" "$boot_s" >&3
echo o >/proc/sysrq-trigger
read -r -t 60 <&4
