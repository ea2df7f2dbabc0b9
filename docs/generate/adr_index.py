"""Makes docs/adr/index.md: each decision, by the title and the status of its page.

python -m docs.generate.adr_index [--check]

A page is `docs/adr/NNNN-name.md`. Its first line is `# N. The decision, in one sentence`; a line
`**Status.** …` says what of it a later page changed, and without one it is in force. With `--check`
nothing is written, and the exit code is 1 if the index is stale or a page has another form.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).parents[1] / "adr"

_HEAD: Final = """<!-- Made by docs/generate/adr_index.py from the titles of the pages; edit those. -->

# Decisions on the design

One page each: context, decision, consequences. The title says the decision. A new page that names the
old one changes a decision; the old page then says so in a line `**Status.**`.

| Number | Decision | Status |
| --- | --- | --- |
"""
_TITLE: Final = re.compile(r"# (\d+)\. (\S.*)\n")
_STATUS: Final = re.compile(r"^\*\*Status\.\*\* (.+)$", re.MULTILINE)
_NUMBER: Final = re.compile(r"\bADR (\d+)\b")


def main() -> int:
    """Write the index, or check it. Gives the exit code."""
    pages = sorted(FOLDER.glob("[0-9]*.md"))
    index = _HEAD + "".join(f"{row}\n" for row in _rows(pages))
    path = FOLDER / "index.md"
    if "--check" in sys.argv:
        stale = not path.is_file() or path.read_text() != index
        if stale:
            print("adr/index.md is stale; run: python -m docs.generate.adr_index", file=sys.stderr)
        return int(stale)
    path.write_text(index)
    return 0


def _rows(pages: list[Path]) -> Iterator[str]:
    names = {int(page.name[:4]): page.name for page in pages}
    if len(names) < len(pages):
        raise SystemExit("docs/adr: two pages have the same number")
    for page in pages:
        text = page.read_text()
        title = _TITLE.match(text)
        if title is None or int(title[1]) != int(page.name[:4]):
            raise SystemExit(f"docs/adr/{page.name}: the first line is not `# NUMBER. Title`")
        said = _STATUS.search(text)
        status = _NUMBER.sub(lambda found: _link(found, names), said[1] if said else "In force.")
        yield f"| {title[1]} | [{title[2]}]({page.name}) | {status} |"


def _link(found: re.Match[str], names: dict[int, str]) -> str:
    return f"[{found[0]}]({names[int(found[1])]})"


if __name__ == "__main__":
    sys.exit(main())
