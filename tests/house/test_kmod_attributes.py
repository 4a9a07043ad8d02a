# SPDX-License-Identifier: GPL-2.0-only
"""test_kmod_attributes: each attribute of the module does something, and is documented.

Guest tests compare what they do; here a new one is named within a second.
"""

from __future__ import annotations

import re

from support import PROJECT

KMOD = PROJECT / "kmod"
ATTRIBUTES = re.findall(r"^\tX\((\w+), ", (KMOD / "attrs.h").read_text(), re.MULTILINE)
SPEC = re.compile(r"^struct biodelay_spec \{\n(.*?)^\};", re.DOTALL | re.MULTILINE)
FIELD = re.compile(r"^\t.*?(\w+)(?:\[\w+\])?;$", re.MULTILINE)
# spec.c writes every field; who else names one reads it.
READERS = [path for path in KMOD.glob("*.c") if path.name != "spec.c"]


def test_every_field_of_a_rule_is_read() -> None:
    (body,) = SPEC.findall((KMOD / "biodelay.h").read_text())
    fields = set(FIELD.findall(body))
    assert {"bytes", "submitter", "burst_on_ms"} <= fields
    read = {
        word
        for path in READERS
        for word in re.findall(r"\bspec(?:->|\)->|_of\(\w+\)->)(\w+)", path.read_text())
    }
    assert fields <= read, f"no file of kmod/ but spec.c reads {fields - read}"


def test_the_readme_has_a_row_for_every_attribute() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (KMOD / "README.md").read_text(), re.MULTILINE)
    assert len(ATTRIBUTES) > 20
    missing = set(ATTRIBUTES) - set(rows)
    assert not missing, f"kmod/README.md has no row for {missing}"


def test_every_attribute_is_used_in_a_machine() -> None:
    """By a script that says what it does, beside the one that writes bad values."""
    used = "".join(
        path.read_text()
        for path in (PROJECT / "tests/kmod").glob("*")
        if path.is_file() and path.name != "check_attributes.py"
    )
    missing = {
        name for name in ATTRIBUTES if not re.search(rf"\b{name}\b\"?[=:]", used)
    }
    assert not missing, f"no script of tests/kmod sets {missing}"
