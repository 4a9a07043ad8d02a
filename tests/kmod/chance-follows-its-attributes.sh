#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will count how many of 1000 reads are delayed with probability,
# interval, times, space, burst, max_inflight and lanes set one at a time.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

insmod "$module"

delayed() { # ATTRIBUTE=WORDS...: of 1000 reads of 4 KiB
	[[ ! -d $rules/r ]] || rmdir "$rules/r"
	rule r device="$disk_name" ops=read delay=1000 "$@" enabled=1
	fio --name=r --filename="$disk" --rw=randread --bs=4k --direct=1 \
		--number_ios=1000 --output=/dev/null
	[[ $(($(status r.delayed) + $(status r.skipped) + \
		$(status r.refused_full))) == $(status r.matched) ]] ||
		fail "$*: delayed and skipped do not add up"
	status r.delayed
}

expect() { # LOW HIGH ATTRIBUTE=WORDS...
	local got
	got=$(delayed "${@:3}")
	printf '%-28s %s\n' "${*:3}" "$got"
	((got >= $1 && got <= $2)) || fail "${*:3}: $got, not $1 to $2"
}

expect 1000 1100 probability=100
expect 0 0 probability=0
expect 240 360 probability=30 # 4 standard deviations
expect 100 110 interval=10
expect 7 7 times=7
expect 1000 1000 times=1000
expect 900 1000 space=409600
expect 0 0 burst="0 1000"
expect 1000 1100 burst="1000 1000"

# lanes: four reads at once on one lane are served one after the other
served() { # LANES: longest delay of four reads at once, ms
	rmdir "$rules/r"
	rule r device="$disk_name" ops=read delay=200000000 mode=defer lanes="$1" enabled=1
	record >/dev/null
	fio --name=r --filename="$disk" --rw=randread --bs=4k --direct=1 \
		--ioengine=libaio --iodepth=4 --number_ios=4 --output=/dev/null
	record | sed 's/.*"requested_ns":\([0-9]*\).*/\1/' | sort --numeric-sort |
		tail --lines=1 | awk '{ print int($1 / 1000000) }'
}
one=$(served 1)
two=$(served 2)
all=$(served 0)
printf 'lanes: 1: %s ms, 2: %s ms, no limit: %s ms\n' "$one" "$two" "$all"
((one > 600 && one <= 800 && two > 300 && two <= 400 && all == 200)) ||
	fail "lanes do not queue"

# A cut delay occupies its lane only for the actual time: after three reads of 2 s, each
# cut to 50 ms, one of 20 ms finds the lane free.
rmdir "$rules/r"
rule r device="$disk_name" ops=read delay=2000000000 max_delay_us=50000 lanes=1 enabled=1
for _ in 1 2 3; do
	dd if="$disk" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
done
rule r delay=20000000
record >/dev/null
dd if="$disk" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
after=$(record | sed 's/.*"requested_ns":\([0-9]*\).*/\1/')
((after == 20000000)) || fail "behind cut delays a lane is booked: $after ns"

rmdir "$rules/r"
rule r device="$disk_name" ops=read delay=500000000 mode=defer max_inflight=2 enabled=1
fio --name=r --filename="$disk" --rw=randread --bs=4k --direct=1 \
	--ioengine=libaio --iodepth=8 --number_ios=8 --output=/dev/null
[[ $(status r.refused_full) -gt 0 ]] || fail "max_inflight=2 refused none of 8 at once"
