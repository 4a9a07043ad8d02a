#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will show that a rule for jbd2/* makes write(2) stall, in each of the given
# modes, delays every bio of jbd2 by the requested time, and no bio of any other task.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

mounted
insmod "$module" device="$disk_name" submitter='jbd2/*' delay_us=300000
slowest=$(appender 5)
[[ $(status seen) == 0 ]] || fail "a disarmed rule looked at bios"
((slowest < 300)) || fail "a write took $slowest ms without a delay"

# A commit's bios wait one after the other, or, deferred, for their data together.
declare -A least_of=([sleep]=500 [spin]=500 [defer]=250)
for mode in $3; do
	least_ms=${least_of[$mode]}
	record >/dev/null
	echo "$mode" >"$params/mode"
	before=$(status delayed) before_ns=$(status total_delay_ns) seen=$(status seen)
	echo 1 >"$params/enabled"
	slowest=$(appender 8)
	sync "$mount_point/log"
	echo 0 >"$params/enabled"
	((slowest >= least_ms)) || fail "$mode: the slowest write took $slowest ms"

	delayed=$(($(status delayed) - before))
	record >/tmp/record
	python3 - /tmp/record "$mode" "$delayed" "$(($(status total_delay_ns) - before_ns))" <<'PYTHON'
import json, sys
records = [json.loads(line) for line in open(sys.argv[1])]
mode, count, total_ns = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
assert len(records) == count > 0, f"{len(records)} lines, {count} delays"
assert sum(r["dur_ns"] for r in records) == total_ns
strangers = {r["comm"] for r in records if not r["comm"].startswith("jbd2/")}
assert not strangers, f"delayed as well: {strangers}"
assert all(r["requested_ns"] == 300_000_000 and r["mode"] == mode for r in records)
short = [r for r in records if r["dur_ns"] < r["requested_ns"]]
assert len(short) <= 1, f"delayed too little: {short}"  # one cut by the disarm
PYTHON
	[[ $(($(status seen) - seen)) -gt $delayed ]] || fail "$mode: nobody but jbd2 wrote"
	printf '%-5s slowest write %s ms; %s of %s bios delayed\n' \
		"$mode" "$slowest" "$delayed" "$(($(status seen) - seen))"
done
[[ $(status records_lost) == 0 ]] || fail "records lost"
[[ $(status in_flight) == 0 ]] || fail "still holding"
