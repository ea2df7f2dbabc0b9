"""Built-in functions of Rego that the host of a compiled policy must supply.

Each does what OPA's own does (topdown/*.go of OPA 1.22), for all inputs that OPA accepts.
"""

import urllib.parse
from collections.abc import Callable, Mapping
from typing import Any, Final


def _urlquery_encode(value: Any) -> str:
    """`urlquery.encode`: Go's url.QueryEscape (topdown/encoding.go)."""
    if not isinstance(value, str):
        message = f"urlquery.encode: operand 1 must be string but got {type(value).__name__}"
        raise TypeError(message)
    return urllib.parse.quote_plus(value, safe="")


SUPPLIED: Final[Mapping[str, Callable[..., Any]]] = {"urlquery.encode": _urlquery_encode}
"""By Rego name. What is not here and not compiled in is refused when a bundle is loaded."""
