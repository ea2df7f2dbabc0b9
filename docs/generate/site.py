"""Makes the documentation site in dist/site, by MkDocs (mkdocs.yml), and says where it is.

python -m docs.generate.site [--check]

A link or an anchor that leads nowhere is an error, in docs/ and in the Markdown files beside it; so
is a page that fetches anything from elsewhere. With `--check` the site is made in a temporary folder.
Exit code 1 if something is wrong.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SITE: Final = ROOT / "dist" / "site"

BESIDE: Final = ("*.md", "examples/**/README.md", "helm/**/README.md")
"""Markdown files that are not of the site."""

_LINK: Final = re.compile(r"\]\(<?([^)\s>]+)>?\)")
_HEADING: Final = re.compile(r"^#+ (.+?)\s*$", re.MULTILINE)
_CODE: Final = re.compile(r"^```.*?^```|`[^`\n]*`", re.MULTILINE | re.DOTALL)
_FETCHES: Final = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}


class _Fetched(HTMLParser):
    """Collects what a page fetches from elsewhere as it opens: scripts, styles, pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.urls: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the address of an element that a browser fetches, where it is of another host."""
        url = dict(attrs).get(_FETCHES.get(tag, "")) or ""
        if re.match(r"(?:[a-z]+:)?//", url):
            self.urls.append(url)


def main() -> int:
    """Make the site, or check that it can be made. Gives the exit code."""
    if "--check" in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            return _made(Path(folder))
    failed = _made(SITE)
    if not failed:
        print(f"The site is made: open {SITE.relative_to(ROOT)}/index.html")
    return failed


def _made(folder: Path) -> int:
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    wrong = [line for line in built.stderr.splitlines() if not line.startswith("INFO")]
    wrong = wrong if built.returncode else []
    wrong += [f"{page}: fetches {url}" for page, url in fetched(folder)]
    wrong += broken_links(ROOT)
    print("\n".join(wrong), end="\n" if wrong else "", file=sys.stderr)
    return int(bool(wrong) or built.returncode != 0)


def fetched(folder: Path) -> Iterator[tuple[str, str]]:
    """Yield each page of a site and what it fetches from another host."""
    for path in sorted(folder.rglob("*.html")):
        page = _Fetched()
        page.feed(path.read_text())
        for url in page.urls:
            yield path.relative_to(folder).as_posix(), url


def broken_links(root: Path) -> list[str]:
    """Name the links of BESIDE that lead to no file of `root`, or to no heading of one."""
    return [
        f"{path.relative_to(root)}: {link} leads nowhere"
        for pattern in BESIDE
        for path in sorted(root.glob(pattern))
        for link in _LINK.findall(_CODE.sub("", path.read_text()))
        if "://" not in link and not link.startswith("mailto:") and not _leads(path, link)
    ]


def _leads(page: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (page.parent / name) if name else page
    if not target.exists():
        return False
    if not anchor or target.suffix != ".md":
        return True
    return anchor in {_anchor(title) for title in _HEADING.findall(target.read_text())}


def _anchor(title: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


if __name__ == "__main__":
    sys.exit(main())
