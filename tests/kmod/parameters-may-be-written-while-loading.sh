#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will write parameters in sysfs while the module applies those that it was
# loaded with, in a build that pauses there (kmod/Kbuild, PAUSE_MS), and show that no write
# that succeeded is lost.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"
module=${module%/*}/pause/${module##*/}

for number in 1 2 3 4 5; do
	insmod "$module" device="$disk_name" delay_us=1000 ttl_ms=5 max_delay_us=7 &
	loading=$!
	until [[ -e $params/ttl_ms ]]; do :; done
	# At varying times: before, while and after the parameters are read.
	sleep "0.$((number * 7 % 10))"
	echo "$number" >"$params/order" || fail "the write was refused"
	echo $((1000 + number)) >"$params/ttl_ms" || fail "the write was refused"
	check "insmod failed" wait "$loading"
	[[ $(<"$params/order") == "$number" ]] ||
		fail "order is $(<"$params/order"), but $number was written"
	[[ $(<"$params/ttl_ms") == $((1000 + number)) ]] ||
		fail "ttl_ms is $(<"$params/ttl_ms"), but $((1000 + number)) was written"
	[[ $(<"$params/max_delay_us") == 7 ]] || fail "max_delay_us was not applied"
	rmmod biodelay
done
