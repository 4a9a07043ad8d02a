# SPDX-License-Identifier: GPL-2.0-only
"""render: turns computed values into a page of page/, one file that needs nothing else.

Names are hostile: jinja2 escapes all it prints, what is invisible is made visible, and
the page's policy lets run only the script and style whose digests it names.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from writestall import __version__
from writestall.common.units import many, ms, printable

PARTS = Path(__file__).parent / "templates"


def render(
    template: str, context: Mapping[str, Any], styles: tuple[str, ...], script: str
) -> str:
    """The whole page, its styles and its script in it."""
    style = Markup("").join(_inline(name) for name in styles)
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
    environment.filters |= {"ms": ms, "many": many}
    return environment.get_template(template).render(
        context, version=__version__, style=style, script=run, policy=policy
    )


def _inline(name: str) -> Markup:
    """A file of page/ as it is: ours, so nothing in it is escaped."""
    return Markup((PARTS / name).read_text("utf-8"))


def _digest(text: str) -> str:
    """A Content-Security-Policy source that is this very text."""
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest())
    return f"'sha256-{digest.decode()}'"


def _visible(value: object) -> object:
    """What a template prints, without control or direction characters in names."""
    return printable(value) if type(value) is str else value
