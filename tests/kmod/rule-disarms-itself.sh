#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will show that a rule disarms itself, releasing what it holds, when its ttl
# expires or its heartbeat stops, and not while the heartbeat continues.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

insmod "$module"
rule r device="$disk_name" ops=read mode=defer delay=20000000000 ttl_ms=1500 enabled=1
start=$(now_ms)
dd if="$disk" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
took=$(($(now_ms) - start))
((took > 500 && took < 8000)) || fail "held for $took ms with ttl_ms=1500"
[[ $(cat "$rules/r/enabled") == 0 ]] || fail "still enabled after its ttl"

rule r ttl_ms=0 heartbeat_ms=2000 enabled=1
for _ in 1 2 3 4 5 6 7 8; do
	sleep 0.5
	rule r heartbeat_ms=2000
done
[[ $(status r.armed) == 1 ]] || fail "disarmed although its keeper beats"
sleep 3.5
[[ $(status r.armed) == 0 ]] || fail "armed although its keeper is gone"
