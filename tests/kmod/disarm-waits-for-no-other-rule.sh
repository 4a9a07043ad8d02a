#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will disarm a rule that defers bios of a dm device while a rule of the disk
# below makes each bio sleep for 3 s, and show that the disarm is prompt, that the thread's
# bios passed the other rule and were counted, and that a rule expires while another one
# is being disarmed.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

upper=biodelay-upper
bios=6
dmsetup create "$upper" --table "0 1048576 linear $disk 0"
dmsetup mknodes "$upper"
trap 'cleanup; dmsetup remove --retry "$upper"
	modprobe --remove scsi_debug 2>/dev/null || true' EXIT
insmod "$module"
number=$(dmsetup info --columns --noheadings --separator : --options major,minor "$upper")

write_bios() { # DISK: by $bios processes, all deferred
	pids=()
	local at
	for ((at = 0; at < bios; at++)); do
		dd if=/dev/zero of="$1" bs=4k count=1 seek="$((16 * at))" oflag=direct \
			2>/dev/null &
		pids+=("$!")
	done
	until [[ $(status a.in_flight) == "$bios" ]]; do sleep 0.01; done
}

rule a device="$number" mode=defer delay=30000000000 ops=write enabled=1
rule b device="$disk_name" mode=sleep delay=3000000000 ops=write enabled=1
write_bios "/dev/mapper/$upper"
start=$(now_ms)
rule a enabled=0
took=$(($(now_ms) - start))
echo "disarmed in $took ms with $bios bios"
# A tenth of what it took when each bio was delayed by the other rule.
((took < bios * 300)) || fail "the disarm took $took ms"
check "a write failed" wait "${pids[@]}"
[[ $(status b.refused_nested) == "$bios" ]] ||
	fail "$(status b.refused_nested) bios of the thread counted, not $bios"
[[ $(status b.delayed) == 0 ]] || fail "the thread was delayed"
rule b enabled=0

# A disk that takes one bio in 0.9 s: the thread waits for it to take more.
before=$(ls /sys/block)
modprobe scsi_debug dev_size_mb=8 max_queue=1
until slow=$(comm -13 <(echo "$before") <(ls /sys/block)) && [[ -b /dev/$slow ]]; do
	sleep 0.1
done
slow=/dev/$slow
bios=8
echo 900000000 >/sys/bus/pseudo/drivers/scsi_debug/ndelay
rule a device="${slow##*/}" enabled=1
rule b ttl_ms=1000
write_bios "$slow"
rule b enabled=1
echo 0 >"$rules/a/enabled" &
disarming=$!
until [[ $(status b.armed) == 0 ]]; do sleep 0.05; done
kill -0 "$disarming" || fail "b did not expire while a was being disarmed"
rule b ttl_ms=0 enabled=1
rule b enabled=0
kill -0 "$disarming" || fail "b was not armed while a was being disarmed"
check "the disarm failed" wait "$disarming"
check "a write failed" wait "${pids[@]}"
[[ $(status in_flight) == 0 ]] || fail "still holding"
