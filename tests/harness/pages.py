"""Pages of HTML as a browser would find them."""

import base64
import hashlib
import re
from html.parser import HTMLParser


class Elements(HTMLParser):
    """Notes elements with their attributes, and texts."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self.words += data


def parsed(page: str) -> Elements:
    """Return what a browser would find."""
    parser = Elements()
    parser.feed(page)
    return parser


def require_closed(page: str) -> None:
    """Demand that a page fetches nothing and runs nothing, and that its policy says so."""
    for tag, attributes in parsed(page).elements:
        assert not {name for name in attributes if name.startswith("on") or name == "style"}, tag
        assert tag not in {"script", "link", "img", "iframe", "object", "base", "form"}
        assert (attributes.get("href") or "#").startswith("#")
        assert "src" not in attributes
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert style is not None
    assert policy is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    assert policy[1] == f"default-src 'none'; style-src 'sha256-{digest}'"
    assert "url(" not in style[1]
    assert "@import" not in style[1]


def require_readable(page: str) -> None:
    """Demand a language, a title, one first heading, and pictures that say what they are.

    And every link leads to a place that is there.
    """
    found = parsed(page)
    tags = [tag for tag, _ in found.elements]
    assert (tags.count("h1"), tags.count("title") > 0, tags.count("main")) == (1, True, 1)
    assert ("html", {"lang": "en"}) in found.elements
    for tag, attributes in found.elements:
        if tag == "th":
            assert attributes["scope"] == "col"
        if tag == "svg":
            assert attributes["role"] == "img"
            assert attributes["aria-label"]
    ids = [attributes["id"] for _, attributes in found.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {attributes["href"] for tag, attributes in found.elements if tag == "a"}
    assert links <= {f"#{place}" for place in ids}
