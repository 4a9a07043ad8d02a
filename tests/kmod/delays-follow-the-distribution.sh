#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will draw 2000 delays from each distribution, including those of
# delay-table, compare them with the exact one by a Kolmogorov-Smirnov test at the 0.1 %
# level, and show that a seed repeats the delays, and that correlation repeats single
# delays.
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

insmod "$module"
draws=2000
rule r device="$disk_name" ops=read mode=spin

draw() { # DELAY [ATTRIBUTE=WORDS...]: requested_ns of each read
	rule r enabled=0 delay="$1" "${@:2}"
	record >/dev/null
	rule r enabled=1
	fio --name=r --filename="$disk" --rw=randread --bs=4k --direct=1 \
		--number_ios="$draws" --randrepeat=1 --output=/dev/null
	record | sed 's/.*"requested_ns":\([0-9]*\).*/\1/'
}

table="table 0:0 500000000:10000 900000000:20000 990000000:40000 1000000000:90000"
draw 5000 >/tmp/fixed
draw "table 0:1000 1000000000:21000" >/tmp/uniform
draw "table 0:1000 900000000:1000 900000000:50000 1000000000:50000" >/tmp/bimodal
draw "$table" >/tmp/table
draw "$table" >/tmp/again
draw "$table" seed=2 >/tmp/other
draw "table 0:1000 1000000000:1001000" correlation=500 >/tmp/correlated
delay_table=${DELAY_TABLE:-$here/../../repro/delay-table}
draw "$("$delay_table" normal 20us 6us)" correlation=0 >/tmp/normal
draw "$("$delay_table" lognormal 5us 0.8)" >/tmp/lognormal
draw "$("$delay_table" pareto 2us 2)" >/tmp/pareto
draw "$("$delay_table" numbers --unit ns /tmp/lognormal)" >/tmp/replayed
python3 "$here/check_draws.py" "$draws" /tmp
