"""Elements of SVG as text. Attributes are escaped here; text is by whoever knows its harm."""

from collections.abc import Mapping
from html import escape


def element(name: str, *inside: str, **attributes: object) -> str:
    """Return an element; underscores of attributes stand for dashes, a last one for nothing.

    `inside` are elements, and text that is escaped already.
    """
    content = "".join(inside)
    if content:
        return text_element(name, content, **attributes)
    return f"<{name}{_listed(attributes)}/>"


def text_element(name: str, escaped: str, **attributes: object) -> str:
    """Return an element of text, which has an end tag where the text is empty, too."""
    return f"<{name}{_listed(attributes)}>{escaped}</{name}>"


def picture(*inside: str, **attributes: object) -> str:
    """Return the outermost element."""
    return element("svg", *inside, xmlns="http://www.w3.org/2000/svg", **attributes)


def _listed(attributes: Mapping[str, object]) -> str:
    return "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
    )
