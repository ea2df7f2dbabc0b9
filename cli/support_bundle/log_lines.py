"""Takes out of the log of a container what must not be seen: documents, secrets, names. Pure.

With `record.lines` a process writes whole documents of the record (decisions, accesses, refusals,
findings) among its lines: of them the id, the verdict and the rules are kept.
"""

import re
from typing import Any, Final

import msgspec

from cli.support_bundle.redaction import Redactor

_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]{8,20}(?:Z|[+-]\d\d:\d\d) ")
"""What kube-apiserver puts before each line."""
_OF_A_DOCUMENT: Final = frozenset({"format", "id", "cluster"})
_PART: Final = re.compile(
    r"^\{\"format\":|\"(?:requesterKind|callerKnown|ifEnforced|signedBy|userAgent)\":\"?|"
    r"\"(?:accessReviews|needs|tried|patches|findings|subjects|requesters|events|pods)\":\[|"
    r"\"(?:request|revisions|durations|isolation)\":\{"
)
"""What the beginning or the middle of a document holds that was cut off."""
LEFT_OUT: Final = "[a part of a document left out]"
_WORD: Final = re.compile(r"[\w./:-]{1,128}")


def redacted_log(redactor: Redactor, log: str) -> str:
    """Return a log without documents, secrets and names of people.

    Lines that are no JSON are looked at together, since a key in PEM has several.
    """
    made: list[str] = []
    texts: list[str] = []
    for number, line in enumerate(log.split("\n")):
        kept = _line(redactor, line, is_first=number == 0)
        if kept is None:
            texts.append(line)
            continue
        if texts:
            made.append(redactor.text("\n".join(texts)))
            texts.clear()
        made.append(kept)
    if texts:
        made.append(redactor.text("\n".join(texts)))
    return "\n".join(made)


def _line(redactor: Redactor, line: str, *, is_first: bool) -> str | None:
    """Return a line that is JSON, or was cut from it, as it is kept; None where it is a text."""
    time = _TIME.match(line)
    before, said = (line[: time.end()], line[time.end() :]) if time else ("", line)
    value = _object(said)
    if value is None:
        is_end = is_first and said.rstrip().endswith("}")
        return before + LEFT_OUT if is_end or _PART.search(said) else None
    is_document = value.keys() >= _OF_A_DOCUMENT and "event" not in value
    shown = _shown(value) if is_document else value
    return before + msgspec.json.encode(redactor.document(shown)).decode()


def _object(said: str) -> dict[str, Any] | None:
    if not said.startswith("{"):
        return None
    try:
        value = msgspec.json.decode(said)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _shown(document: dict[str, Any]) -> dict[str, Any]:
    findings = document.get("findings")
    rules = document.get("rules") or [
        each.get("rule")
        for each in (findings if isinstance(findings, list) else [])
        if isinstance(each, dict)
    ]
    return {
        "document": "all but these fields left out",
        "id": _word(document["id"]),
        "verdict": _word(document.get("verdict")),
        "rules": [_word(each) for each in rules] if isinstance(rules, list) else [],
    }


def _word(value: Any) -> str:
    return value if isinstance(value, str) and _WORD.fullmatch(value) else ""
