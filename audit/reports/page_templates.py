"""The template engine and the one style that all pages share.

What others chose is escaped wherever it is put into a page, and what is not printable is spelt out.
A page lets nothing in but this style, by its digest in a Content-Security-Policy.
"""

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any, Final

import jinja2
from markupsafe import Markup

from audit.reports.display_text import minute_text, number_text, report_line

_STYLE: Final = Path(__file__).parent / "templates" / "report.css"


def environment(folder: Path) -> jinja2.Environment:
    """Return the engine with the templates of a folder."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=_final,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"moment": minute_text, "number": number_text}
    return made


@cache
def style() -> Markup:
    """Return the style."""
    return Markup(_STYLE.read_text(encoding="utf-8"))  # noqa: S704  Our own file.


@cache
def style_hash() -> str:
    """Return the source by which a Content-Security-Policy lets the style in."""
    digest = hashlib.sha256(style().encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _final(value: Any) -> Any:
    """Spell out what is not printable, wherever a value is put into the page."""
    return report_line(value) if isinstance(value, str) and not isinstance(value, Markup) else value
