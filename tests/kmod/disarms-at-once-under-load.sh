#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will arm and disarm a rule that defers for 30 s while fio keeps the disk busy,
# and show that no disarm takes as long as a delay, and that no bio is lost.
#
# Argument behind module and disk: disarms (300).
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

insmod "$module"
# A rule that matches nothing keeps the probe enabled: a disarm then only waits for
# handlers.
rule idle device="$disk_name" bytes=1-1 delay=1 order=0 enabled=1
rule r device="$disk_name" mode=defer delay=30000000000
cd /tmp || fail "no /tmp" # fio leaves its state there
fio --name=busy --filename="$disk" --rw=randrw --bs=4k --direct=1 --ioengine=libaio \
	--iodepth=16 --time_based --runtime=1d >/tmp/fio.out 2>&1 &
writer_pid=$!
python3 "$here/disarms.py" "$rules/r/enabled" "$debugfs/status" "${3:-300}"
[[ $(status in_flight) == 0 ]] || fail "still holding"
kill -INT "$writer_pid"
wait "$writer_pid" || true # ended by a signal
writer_pid=
! grep --quiet --extended-regexp 'error=|Input/output' /tmp/fio.out ||
	fail "fio: $(cat /tmp/fio.out)"
