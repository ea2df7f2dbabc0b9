"""Finds where a bundle's Rego calls a built-in function."""

import re

from policies.bundle.format import Bundle


def place_of(bundle: Bundle, builtin: str) -> str:
    """Give file and line of the first call, or say that they are not known."""
    call = re.compile(rf"(?<![\w.]){re.escape(builtin)}\(")
    for path, text in sorted(bundle.sources.items()):
        for number, line in enumerate(text.splitlines(), 1):
            if call.search(line.split("#")[0]):
                return f"{path}:{number}"
    return "place unknown: the bundle holds no source"
