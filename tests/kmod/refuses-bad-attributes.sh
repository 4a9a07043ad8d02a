#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# This test will write invalid values to every attribute of a rule, armed and not, and
# show the errno for each, that nothing changed, and that two concurrent writers, of any
# attribute, leave one of their two values.
# expects: biodelay: .*
# shellcheck source=tests/kmod/lib.sh
source "$(dirname "$0")/lib.sh"

insmod "$module"
rule r device="$disk_name" delay=1000
for armed in 0 1; do
	rule r enabled="$armed"
	python3 "$here/check_attributes.py" "$rules/r" vda
done

# Two concurrent writers, first to a rule that is not armed, then to one that is.
for armed in 0 1; do
	rule race device="$disk_name" delay=1000 enabled="$armed"
	python3 "$here/check_races.py" "$rules/race" "$disk_name" sda
	rmdir "$rules/race"
done
if mkdir "$rules/a-name-that-is-longer-than-a-rule-may-have" 2>/dev/null; then
	fail "took a name of more than 31 characters"
fi
if mkdir "$rules/param" 2>/dev/null; then
	fail "made a second rule of the name param"
fi
