#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will compare what the tracepoint biodelay:bio_delay prints with the record,
# line for line, in each mode.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

insmod "$module"
tracing=/sys/kernel/tracing
[[ -d $tracing/events/biodelay/bio_delay ]] || fail "no tracepoint"
echo 1 >"$tracing/events/biodelay/bio_delay/enable"
for mode in sleep defer spin; do
	rule "in-$mode" device="$disk_name" mode="$mode" delay=2000000 enabled=1
	dd if=/dev/zero of="$disk" bs=8k count=3 oflag=direct 2>/dev/null
	rule "in-$mode" enabled=0
done
cp "$tracing/trace" /tmp/trace
echo 0 >"$tracing/events/biodelay/bio_delay/enable"
record >/tmp/record
python3 - /tmp/trace /tmp/record <<'PYTHON'
import json, re, sys
traced = [dict(re.findall(r"(\w+)=(\S*)", line.split("bio_delay: ")[1]))
          for line in open(sys.argv[1]) if " bio_delay: " in line]
records = [json.loads(line) for line in open(sys.argv[2])]
assert len(records) == 9 == len(traced), (len(records), len(traced))
for t, r in zip(traced, records):
    want = {k: ",".join(v) if k == "flags" else str(v) for k, v in r.items() if k != "ev"}
    assert t == want, (t, want)
assert {r["rule"] for r in records} == {"in-sleep", "in-defer", "in-spin"}
PYTHON
