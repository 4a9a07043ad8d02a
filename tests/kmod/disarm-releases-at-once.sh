#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will write 0 to enabled while a bio is held for 20 s, and show that its task
# continues at once and that the record has the actual delay.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

insmod "$module" device="$disk_name" delay_us=20000000 ops=read enabled=1
dd if="$disk" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null &
writer_pid=$!
until [[ $(status in_flight) == 1 ]]; do sleep 0.01; done

start=$(now_ms)
echo 0 >"$params/enabled"
check "the held task failed" wait "$writer_pid"
took=$(($(now_ms) - start))
writer_pid=
((took < 1000)) || fail "the release took $took ms"
[[ $(status armed) == 0 ]] || fail "still armed"
[[ $(status in_flight) == 0 ]] || fail "still holding"
python3 - "$debugfs/record" <<'PYTHON'
import json, sys
[record] = [json.loads(line) for line in open(sys.argv[1])]
assert record["op"] == "read" and record["bytes"] == 4096, record
assert record["dur_ns"] < record["requested_ns"] == 20_000_000_000, record
PYTHON
before=$(status delayed)
dd if="$disk" of=/dev/null bs=4k count=1 iflag=direct 2>/dev/null
[[ $(status delayed) == "$before" ]] || fail "a disarmed rule delays"
