#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will write a series of more than a page in pieces, and show for each delayed
# read that the table of its time was in force, that nothing is delayed at other times,
# that an arming begins anew, and that a series may be replaced while it delays.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

insmod "$module"
rule r device="$disk_name" ops=read mode=sleep delay=1000
python3 "$here/check_series.py" "$rules/r" "$disk" "$debugfs/record"
check "nothing was skipped" test "$(status r.skipped)" -gt 0

# No series: the delay counts again.
rule r series=
check "an empty series is shown" test -z "$(cat "$rules/r/series")"
record >/dev/null
rule r enabled=1
dd if="$disk" of=/dev/null bs=4k count=3 iflag=direct 2>/dev/null
rule r enabled=0
check "no delay of its own" test "$(record | grep --count '"requested_ns":1000,')" = 3

# Replaced under readers, with the old one in use.
rule r series='0 0:0 1000000000:100000' enabled=1
fio --name=r --filename="$disk" --rw=randread --bs=4k --direct=1 --numjobs=4 \
	--time_based --runtime=5 --output=/dev/null &
writer_pid=$!
rounds=0
while kill -0 "$writer_pid" 2>/dev/null; do
	rule r series='0 0:0 1000000000:200000 100000'
	rule r series='50 0:50000 1000000000:50000'
	rule r series=
	rule r series='0 0:0 1000000000:100000'
	rounds=$((rounds + 1))
done
writer_pid=
rule r enabled=0
check "only $rounds rounds" test "$rounds" -ge 10
echo "replaced $((4 * rounds)) times under 4 readers"
