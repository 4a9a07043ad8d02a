#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will show that a rule for jbd2/* makes write(2) stall for 0.5 s and
# more, delays every bio of jbd2 by what it was told, and no bio of anyone else.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

mounted
insmod "$module" device="$disk_name" submitter='jbd2/*' delay_us=300000
slowest=$(appender 5)
[[ $(status seen) == 0 ]] || fail "a disarmed rule looked at bios"
((slowest < 300)) || fail "a write took $slowest ms without a delay"

echo 1 >"$params/enabled"
slowest=$(appender 12)
sync "$mount_point/log"
echo 0 >"$params/enabled"
((slowest >= 500)) || fail "the slowest write took $slowest ms, not 500 or more"

cat "$debugfs/record" >/tmp/record
python3 - /tmp/record "$(status delayed)" "$(status total_delay_ns)" <<'PYTHON'
import json, sys
records = [json.loads(line) for line in open(sys.argv[1])]
assert len(records) == int(sys.argv[2]), f"{len(records)} lines, {sys.argv[2]} delays"
assert sum(r["dur_ns"] for r in records) == int(sys.argv[3])
strangers = {r["comm"] for r in records if not r["comm"].startswith("jbd2/")}
assert not strangers, f"delayed as well: {strangers}"
assert all(r["requested_ns"] == 300_000_000 for r in records)
short = [r for r in records if r["dur_ns"] < r["requested_ns"]]
assert len(short) <= 1, f"delayed too little: {short}"  # one cut by the disarm
PYTHON
[[ $(status seen) -gt $(status delayed) ]] || fail "nobody but jbd2 wrote"
[[ $(status records_lost) == 0 ]] || fail "records lost"
[[ $(status in_flight) == 0 ]] || fail "still holding"
quiet_kernel
printf 'slowest write %s ms; %s of %s bios delayed\n' \
	"$slowest" "$(status delayed)" "$(status seen)"
