"""MkDocs hooks of the site: mkdocs.yml names this file."""

import re
from typing import Any, Final

_MADE: Final = re.compile(r"\A(?:<!--.*?-->\s*)+", re.DOTALL)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Take the comments before the title away: MkDocs finds no title behind them."""
    return _MADE.sub("", markdown)
