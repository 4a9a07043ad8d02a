# SPDX-License-Identifier: GPL-2.0-only
"""wrappings: take a log's lines out of JSON, HTML, mail and lines without newlines.

Journald, container runtimes and log viewers store a line, or many, in a field of JSON;
forums serve HTML; mailers encode (RFC 2045, quoted-printable); what was copied from a
page or through a shell may stand on one line. Other lines are passed on unchanged.
"""

from __future__ import annotations

import html
import quopri
import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import msgspec

# A line's number, the host named around it, and its text.
Row = tuple[int, str, str]

# No line of a log is longer; what is behind it is cut off.
MAX_LINE_CHARS = 4096
_MESSAGES = ("MESSAGE", "message", "log", "msg", "textPayload", "@message", "_raw")
_HOSTS = ("_HOSTNAME", "hostname", "host", "Hostname", "host_name", "node_name")
# Objects of a record that name the host its message is from.
_AROUND = ("_source", "jsonPayload", "labels", "resource", "kubernetes", "stream")
# One field a line: `journalctl -o export`, `-o verbose` and `-o json-pretty`.
_FIELD = re.compile(
    r"\s{0,16}(?P<key>_[A-Z_]{1,64}|MESSAGE|PRIORITY|SYSLOG_\w{1,32})=(?P<value>.*)"
)
_PRETTY = re.compile(r'\s{0,64}"(?P<key>[^"]{1,64})"\s?:\s?(?P<value>.*?),?\s{0,8}')
_BRACE = re.compile(r"\s{0,64}[\[{}\],]{1,3}\s{0,8}")
_TAGS = re.compile(
    r"</?(?:a|b|i|p|pre|code|div|span|td|tr|li|ol|ul|table|tbody|font|tt|samp|em|strong"
    r"|html|body|head|blockquote|article|section|h\d)(?:\s[^<>]{0,400})?/?>"
)
_BREAKS = re.compile(r"<(?:br\s{0,4}/?|/p|/div|/tr|/li|/pre)>", re.IGNORECASE)
_ENTITY = re.compile(r"&(?:[a-z]{2,6}|#\d{1,6}|#x[0-9a-f]{1,5});", re.IGNORECASE)
_COLOUR = re.compile(r"(?:\x1b|#033)\[[\d;]{0,16}[A-Za-z]")
# Newlines escaped: by JSON and most languages, by rsyslog (#012).
_ESCAPED = re.compile(r"(?:\\r)?\\n|#012")
_SOFT_BREAK = re.compile(r".{39,76}[^=]=")
# Some mailers encode the line's end as well, and break behind that.
_ENCODED_END = "=0A="
_ENCODED = re.compile(r"=(?:3D|20$)|^Content-Transfer-Encoding: quoted-printable", re.I)
# Where lines began that now stand on one: the date of syslog, the kernel's own time,
# the first words of a report's lines.
_STARTS = re.compile(
    r"(?=\b[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S{1,64} kernel:)"
    r"|(?<!kernel: )(?<!\] )(?<!>)(?=(?:<\d>)?\[ {0,6}\d{1,8}\.\d{6}\])"
    r"|(?<![:\]] )(?<![:\]]  )(?=INFO: task |\btask:\S{1,16}\s{1,16}state:"
    r"|Call [Tt]race:|Workqueue: |</?(?:TASK|IRQ)>)"
    r"|(?<=</TASK>)|(?<=disables this message\.)"
)
_LOST = re.compile(r"Call [Tt]race:.{0,240}?\+0x|\+0x[^+]{1,160}\+0x[^+]{1,160}\+0x")


# A line without any of these is in no wrapping.
_MAYBE = re.compile(
    r'["{}&\\=\x1b\0\ufeff\xa0]|#0[13]|</?[a-z]|\+0x[^+]*\+0x|race:.{0,240}?\+0x'
)


class _Detector:
    """Tells lines that may be wrapped; of an encoded text, all may."""

    def __init__(self) -> None:
        self._encoded = False

    def __call__(self, row: tuple[int, str]) -> bool:
        text = row[1]
        if self._encoded or not _MAYBE.search(text):
            return self._encoded
        end = text.rstrip("\r\n")
        found = _SOFT_BREAK.fullmatch(end) or _ENCODED.search(text)
        self._encoded = found is not None or end.endswith(_ENCODED_END)
        return True


def unwrapped(numbered: Iterable[tuple[int, str]]) -> Iterator[Row]:
    """Every line of a log, taken out of what it is wrapped in."""
    for wrapped, rows in groupby(numbered, _Detector()):
        if not wrapped:
            for number, text in rows:
                yield number, "", text[:MAX_LINE_CHARS].rstrip("\r\n")
            continue
        for number, host, text in _out_of_fields(_joined(rows)):
            for at, part in enumerate(_parts(text)):
                yield number + at, host, part[:MAX_LINE_CHARS]


def _joined(numbered: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Lines with quoted-printable undone, soft breaks first."""
    first, held, encoded = 0, "", False
    for number, line in numbered:
        text = line.strip("\r\n\0\ufeff")
        first = first if held else number
        if text.endswith(_ENCODED_END):
            text, encoded = text.removesuffix(_ENCODED_END), True
        elif _SOFT_BREAK.fullmatch(text):
            held, encoded = (held + text[:-1])[:MAX_LINE_CHARS], True
            continue
        text, held = held + text, ""
        encoded = encoded or _ENCODED.search(text) is not None
        if encoded and "=" in text:
            raw = quopri.decodestring(text.encode("utf-8", "replace"))
            text = raw.decode("utf-8", "replace")
        yield first, text
    if held:
        yield first, held


def _out_of_fields(numbered: Iterable[tuple[int, str]]) -> Iterator[Row]:
    """Messages of records of JSON, or of journald's formats of one field a line."""
    held: list[tuple[int, str]] = []
    host = ""
    for number, text in numbered:
        if field := _field(text):
            key, value = field
            if key in _MESSAGES:
                held.append((number, value))
            elif key in _HOSTS:
                host = value
            continue
        # The record is over: only now its host is known for certain.
        yield from ((at, host, message) for at, message in held)
        held, host = [], ""
        if _BRACE.fullmatch(text):
            continue
        yield from ((number, where, found) for where, found in _of_line(text))
    yield from ((at, host, message) for at, message in held)


def _field(text: str) -> tuple[str, str] | None:
    """A field's name and value, where a line is one."""
    if match := _FIELD.match(text):
        return match["key"], match["value"]
    if not text.lstrip().startswith('"') or not (match := _PRETTY.fullmatch(text)):
        return None
    value = _json(match["value"])
    return match["key"], value if isinstance(value, str) else ""


def _of_line(text: str) -> Iterator[tuple[str, str]]:
    """Host and message of every record on a line; else the line itself."""
    value = _json(text) if text.lstrip(" \t,")[:1] in ("{", '"', "[") else None
    if value is None or not _has_words(value):
        yield "", text
    else:
        yield from _messages(value, "")


def _json(text: str) -> Any:
    """A value of JSON; None for a number and where it is none."""
    try:
        value = msgspec.json.decode(text.strip(" \t,").encode("utf-8", "replace"))
    except (msgspec.MsgspecError, RecursionError, ValueError):
        return None
    return value if isinstance(value, dict | list | str) else None


# `[12345]` is JSON, too, and so is the `"name"` that a mailer put on a line of its own.
def _has_words(value: Any) -> bool:
    if isinstance(value, list):
        return any(isinstance(inner, dict | list | str) for inner in value)
    return isinstance(value, dict) or " " in value


def _messages(value: Any, host: str) -> Iterator[tuple[str, str]]:
    """Messages in a value, each with the host that stands beside or around it."""
    if isinstance(value, str):
        yield host, value
    elif isinstance(value, list):
        # Loki's rows are pairs of a time and a line.
        pair = len(value) == 2 and isinstance(value[0], str) and value[0].isdigit()
        for inner in value[pair:]:
            yield from _messages(inner, host)
    elif isinstance(value, dict):
        host = _host(value) or host
        texts = [value[key] for key in _MESSAGES if _is_text(value.get(key))]
        if texts:
            yield host, _text(texts[0])
        else:
            for inner in value.values():
                # A report may be in any field: `body`, `description`, ..
                if not isinstance(inner, str) or "+0x" in inner or "INFO: " in inner:
                    yield from _messages(inner, host)


# Journald exports what is no UTF-8 as an array of bytes.
def _is_text(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list)
        and all(isinstance(it, int) and 0 <= it < 256 for it in value)
    )


def _text(value: Any) -> str:
    return value if isinstance(value, str) else bytes(value).decode("utf-8", "replace")


def _host(value: dict[str, Any]) -> str:
    """The host that a record names, itself or around its message."""
    for key in _HOSTS:
        named = value.get(key)
        if isinstance(named, dict):
            named = named.get("name")
        if isinstance(named, str):
            return named
    inner = (value.get(key) for key in _AROUND)
    named = (_host(it) for it in inner if isinstance(it, dict))
    return next((name for name in named if name), "")


def _parts(text: str) -> list[str]:
    """The lines in a message: mostly one."""
    if "\x1b" in text or "#033[" in text:
        text = _COLOUR.sub("", text)
    if "</" in text or "<br" in text or "<pre" in text:
        text = _TAGS.sub("", _BREAKS.sub("\n", text))
    if "&" in text and _ENTITY.search(text):
        text = html.unescape(text)
    if "\xa0" in text:
        text = text.replace("\xa0", " ")
    if "\\n" in text or "#012" in text:
        text = _ESCAPED.sub("\n", text).replace("\\t", " ").replace('\\"', '"')
    parts = text.split("\n")
    if _LOST.search(text):
        parts = [line for part in parts for line in _apart(part)]
    return parts


def _apart(text: str) -> list[str]:
    """A line cut where lines began, when it holds more than one."""
    if not _LOST.search(text):
        return [text]
    return [part for part in _STARTS.split(text) if part and part.strip()] or [text]
