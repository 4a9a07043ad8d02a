#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will load, arm, disarm and unload the module CYCLES times (20) while
# fio writes and verifies, without a splat, a mismatch or a bio lost.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

cycles=${CYCLES:-20}
mounted
load() { # write and verify until told to stop
	while [[ ! -e /tmp/stop ]]; do
		fio --directory="$mount_point" --rw=randwrite --bs=4k --size=2m \
			--verify=crc32c --verify_fatal=1 --thinktime=1ms \
			--name=buffered --fsync=8 --name=direct --direct=1 \
			>/tmp/fio.out 2>&1 || return 1
		rounds=$((rounds + 1))
		echo "$rounds" >/tmp/rounds
	done
}

cd /tmp || fail "no /tmp" # fio leaves its state where it stands
rounds=0
rm --force /tmp/stop /tmp/rounds
load &
writer_pid=$!
sleep 1
slowest=0
for ((cycle = 0; cycle < cycles; cycle++)); do
	insmod "$module" device="$disk_name" delay_us=$((1 + cycle % 4 * 20000)) \
		enabled=$((cycle % 2))
	echo 1 >"$params/enabled"
	sleep "0.$((cycle % 5))"
	if ((cycle % 3 == 0)); then
		echo 0 >"$params/enabled"
	fi
	took=$(unload)
	((slowest >= took)) || slowest=$took
	kill -0 "$writer_pid" || fail "fio ended early: $(cat /tmp/fio.out)"
done
touch /tmp/stop
wait "$writer_pid" || fail "fio: $(cat /tmp/fio.out)"
writer_pid=
quiet_kernel
printf '%s cycles, %s rounds of fio, slowest unload %s ms\n' \
	"$cycles" "$(cat /tmp/rounds)" "$slowest"
