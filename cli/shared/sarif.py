"""What all SARIF 2.1.0 logs have in common: the schema, severities, plain messages."""

import re
from types import MappingProxyType
from typing import Any, Final

Json = dict[str, Any]

SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)

_LEVELS: Final = MappingProxyType(
    {"critical": "error", "high": "error", "medium": "warning", "low": "note"}
)

_SCORES: Final = MappingProxyType({"critical": "9.5", "high": "8.0", "medium": "5.5", "low": "2.0"})
"""Within GitHub's bands: critical over 9.0, high from 7.0, medium from 4.0, low below."""

_SYNTAX: Final = re.compile(r"(?<=\])(?=\()|(?<=\{)(?=\d)")
"""Where a plain message would become a link or a placeholder (SARIF 2.1.0, 3.11.5 and 3.11.6)."""


def weight(severity: str) -> Json:
    """Return the security severity of a rule for code scanning."""
    score = _SCORES.get(severity, _SCORES["medium"])
    return {
        "defaultConfiguration": {"level": _LEVELS.get(severity, "warning")},
        "properties": {"security-severity": score, "tags": ["security", "kubernetes"]},
    }


def plain(text: str) -> str:
    """Return a message that holds no links or placeholders."""
    return _SYNTAX.sub(" ", text)
