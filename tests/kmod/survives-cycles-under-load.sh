#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will load, arm, change, disarm and unload the module while fio writes
# and verifies, without a splat, a mismatch, a bio lost or memory that grows.
#
# Arguments behind module and disk: cycles (20), and the ms that no unload may
# exceed (no bound: on a busy host it would measure the host).
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

cycles=${3:-20}
most_ms=${4:-}
mounted
round() { # write and verify once
	fio --directory="$mount_point" --rw=randwrite --bs=4k --size=2m \
		--verify=crc32c --verify_fatal=1 --thinktime=1ms \
		--name=buffered --fsync=8 --name=direct --direct=1 \
		>/tmp/fio.out 2>&1
}
load() { # rounds until told to stop
	while [[ ! -e /tmp/stop ]]; do
		round || return 1
		rounds=$((rounds + 1))
		echo "$rounds" >/tmp/rounds
	done
}

kernel_kb() { # what the kernel has for itself, caches dropped
	sync
	echo 3 >/proc/sys/vm/drop_caches
	awk '/^(SUnreclaim|VmallocUsed|Percpu):/ { sum += $2 } END { print sum }' /proc/meminfo
}

cycle() { # NUMBER: prints the ms its unload took
	insmod "$module" device="$disk_name" delay_us=$((1 + $1 % 4 * 20000)) \
		enabled=$(($1 % 2))
	echo 1 >"$params/enabled"
	sleep "0.$(($1 % 5))"
	echo "${modes[$1 % 2]}" >"$params/mode"
	echo $((1 + $1 % 3 * 10000)) >"$params/delay_us"
	sleep "0.$(($1 % 3))"
	if (($1 % 3 == 0)); then
		echo 0 >"$params/enabled"
	fi
	unload
}

cd /tmp || fail "no /tmp" # fio leaves its state where it stands
modes=(defer sleep)
rounds=0
rm --force /tmp/stop /tmp/rounds /tmp/unloads
round || fail "fio: $(cat /tmp/fio.out)"
cycle 0 >/dev/null
before_kb=$(kernel_kb)
load &
writer_pid=$!
sleep 1
for ((number = 0; number < cycles; number++)); do
	cycle "$number" >>/tmp/unloads
	kill -0 "$writer_pid" || fail "fio ended early: $(cat /tmp/fio.out)"
done
touch /tmp/stop
wait "$writer_pid" || fail "fio: $(cat /tmp/fio.out)"
writer_pid=
grown_kb=$(($(kernel_kb) - before_kb))
sort --numeric-sort --output=/tmp/unloads /tmp/unloads
slowest=$(tail --lines=1 /tmp/unloads)
printf '%s cycles, %s rounds of fio; unload %s ms, slowest %s ms; %s KiB more than before\n' \
	"$cycles" "$(cat /tmp/rounds)" "$(sed --quiet "$(((cycles + 1) / 2))p" /tmp/unloads)" \
	"$slowest" "$grown_kb"
# The module uses 8 MiB when loaded; the memory of fio and ext4 varies by less than 2.
((grown_kb < 2048 + cycles)) || fail "$grown_kb KiB more after $cycles cycles"
[[ -z $most_ms ]] || ((slowest <= most_ms)) || fail "an unload took $slowest ms"
