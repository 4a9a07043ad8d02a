#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will follow the record with several readers and small buffers while bios are
# delayed, and show that every record is read once, complete, and that records beyond
# the queues' size are counted as lost.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

insmod "$module" device="$disk_name" delay_us=100 ops=read records_per_cpu=64 \
	enabled=1
reads() { # COUNT
	fio --name=reads --filename="$disk" --rw=randread --bs=4k --direct=1 \
		--number_ios="$1" --numjobs=2 --output=/dev/null
}
reads 500 &
writer_pid=$!
touch /tmp/a /tmp/b
while kill -0 "$writer_pid" 2>/dev/null; do
	dd if="$debugfs/record" of=/tmp/a bs=700 oflag=append conv=notrunc 2>/dev/null &
	cat "$debugfs/record" >>/tmp/b
	wait $!
done
wait "$writer_pid"
writer_pid=
cat "$debugfs/record" >>/tmp/b
delayed=$(status delayed)
lost=$(status records_lost)
python3 - "$delayed" "$lost" <<'PYTHON'
import json, sys
lines = [line for name in ("/tmp/a", "/tmp/b") for line in open(name)]
records = [json.loads(line) for line in lines]
assert len(set(lines)) == len(lines), "a record was read twice"
delayed, lost = map(int, sys.argv[1:])
assert delayed >= 1000 and len(records) == delayed - lost, (len(records), delayed, lost)
PYTHON
if dd if="$debugfs/record" bs=10 count=1 2>/dev/null | grep --quiet .; then
	fail "tore a line into 10 bytes"
fi
before=$(status records_lost)
reads 500
[[ $(status records_lost) -gt $before ]] || fail "128 places, 1000 records, none lost"
[[ $(wc --lines <"$debugfs/record") -le 128 ]] || fail "more lines than places"
