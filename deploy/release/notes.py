"""What a release brings, out of the changelog."""

import re

from tests.tools.provide import CannotProvideError

_SECTION = r"(?ms)^## \[?{name}\]?(?: [^\n]*)?\n(.*?)(?=^## |\Z)"


def notes_of(changelog: str, version: str) -> str:
    """Return the section of a version, or of what is not released yet.

    Raises:
        CannotProvideError: there is none, or it is empty.
    """
    for name in (version, "Unreleased"):
        found = re.search(_SECTION.format(name=re.escape(name)), changelog)
        if found is not None and (said := found.group(1).strip()):
            return f"# Sallyport {version}\n\n{said}\n"
    raise CannotProvideError(f"CHANGELOG.md says nothing of {version}")
