# SPDX-License-Identifier: GPL-2.0-only
"""render: render a template as a page: one file that needs nothing else.

Names from a run may be hostile: jinja2 escapes all values, control characters are made
visible, and the page's Content-Security-Policy allows only our own script and style, by
their digests.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from writestall import __version__
from writestall.classify.styles import palette_css
from writestall_base.units import many, ms, printable

PARTS = Path(__file__).parent / "templates"
NUMBER = re.compile(r"(\d) (ms|s|us|%)(?!\w)")


def render(
    template: str, context: Mapping[str, Any], styles: tuple[str, ...], script: str
) -> str:
    """Render a page, with its styles and its script inline."""
    style = Markup(palette_css() + "".join(map(_inline, styles)))
    run = _inline(script)
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"style-src {_digest(style)}; script-src {_digest(run)}"
    )
    environment = Environment(
        loader=FileSystemLoader(PARTS),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"ms": ms, "many": many, "unbroken": _unbroken}
    return environment.get_template(template).render(
        context, version=__version__, style=style, script=run, policy=policy
    )


def _unbroken(text: str) -> Markup:
    """A text whose numbers stay in one line with their units."""
    return Markup(NUMBER.sub(r"\1&nbsp;\2", str(escape(printable(text)))))


def _inline(name: str) -> Markup:
    """A file of templates/, not escaped: it is ours."""
    return Markup((PARTS / name).read_text("utf-8"))


def _digest(text: str) -> str:
    """The Content-Security-Policy source of a text."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest())
    return f"'sha256-{digest.decode()}'"


def _visible(value: object) -> object:
    """Make control and direction characters in names visible."""
    return printable(value) if type(value) is str else value
