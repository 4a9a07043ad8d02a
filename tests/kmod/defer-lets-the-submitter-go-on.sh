#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will show that deferred bios are in flight together, that each is submitted
# in its order and not before it is due, and that one bio that the block layer splits is
# delayed once.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

insmod "$module" device="$disk_name" ops=write mode=defer delay_us=500000 enabled=1
# One io_submit(2): what fio itself takes, to start or between two bios, is not judged.
fio --name=deep --filename="$disk" --rw=write --bs=4k --size=64k --direct=1 \
	--ioengine=libaio --iodepth=16 --iodepth_batch_submit=16 --output=/dev/null
record >/tmp/record
python3 - /tmp/record <<'PYTHON'
import json, sys
records = [json.loads(line) for line in open(sys.argv[1])]
assert len(records) == 16, len(records)
for r in records:
    assert r["mode"] == "defer" and r["comm"] == "fio", r
    assert r["dur_ns"] >= r["requested_ns"] == 500_000_000, r
caught = [r["t_ns"] for r in records]
assert caught == sorted(caught), "did not go down in the order they came"
assert [r["sector"] for r in records] == list(range(0, 128, 8))
first_ended = caught[0] + records[0]["dur_ns"]
assert caught[-1] < first_ended, f"the last was caught {caught[-1] - first_ended} ns late"
PYTHON

echo 16 >"/sys/block/$disk_name/queue/max_sectors_kb"
dd if=/dev/zero of="$disk" bs=256k count=1 oflag=direct 2>/dev/null
record >/tmp/record
[[ $(wc --lines </tmp/record) == 1 ]] || fail "split, and delayed $(wc --lines </tmp/record) times"
grep --quiet '"bytes":262144,' /tmp/record || fail "not the whole bio: $(cat /tmp/record)"
