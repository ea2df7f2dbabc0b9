"""What METADATA declares against what the Rego reads; and what it says to people."""

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from policies.authoring.lint.problems import Problem
from policies.authoring.lint.syntax import RegoSource, Steps, refs, walk
from policies.site.fields import steps_of

_FIELDS: Final = ("input", "fields")
_PARAMETERS: Final = ("sallyport", "parameters")
_MOST_OF_MESSAGE: Final = 200
_ITEMS: Final = "[]"
_NO_VERB: Final = re.compile(
    r"(?:(?:the|a|an|this|that|it|you|your|we|please|should|must|there|no|not|all|any|each|every|"
    r"pods?|containers?|objects?|only|if|when|because|since|for|to|in|with)\b|\w+ing\b)",
    re.IGNORECASE,
)


def find_metadata_problems(sources: Sequence[RegoSource]) -> Iterator[Problem]:
    """Look at one rule's files, the one with the METADATA among them, and at its helpers."""
    owner = next((it for it in sources if it.annotations), None)
    if owner is None:
        return  # The build says so.
    custom = owner.annotations.get("custom") or {}
    own = [it for it in sources if it.package == owner.package]
    yield from _fields(owner, own, sources, custom)
    yield from _parameters(owner, sources, custom)
    yield from _texts(owner, own, custom)


def _read(sources: Sequence[RegoSource], prefix: Steps) -> list[tuple[RegoSource, Any, Steps]]:
    """Return the paths that are read below a prefix: the parts that come after it."""
    found = []
    for source in sources:
        for ref in refs(source.rules):
            steps = source.steps(ref)
            if steps[: len(prefix)] == prefix:
                found.append((source, ref, steps[len(prefix) :]))
    return found


def _fields(
    owner: RegoSource, own: Sequence[RegoSource], sources: Sequence[RegoSource], custom: Any
) -> Iterator[Problem]:
    wanted = {field: steps_of(str(field)) for field in custom.get("fields") or ()}
    for source, ref, read in _read(own, _FIELDS):
        if not any(_meet(steps, read) for steps in wanted.values()):
            yield source.problem(
                ref,
                "undeclared-field",
                f"reads input.fields.{_dotted(read)}, which this rule does not declare",
                "add it under custom.fields: without it the field is there only while another "
                "rule declares it",
            )
    reads = [read for _, _, read in _read(sources, _FIELDS)]
    for field, steps in wanted.items():
        if not any(_meet(steps, read) for read in reads):
            yield owner.warning(
                _line_of(owner, str(field)),
                "unread-field",
                f"declares the field {field} and does not read it",
                "leave it out: what no rule reads is not copied",
            )


def _meet(declared_steps: Sequence[str], read: Steps) -> bool:
    """Return whether one lies on the other's way; a variable may be any part."""
    pairs = zip(declared_steps, read, strict=False)
    return all(
        mine == its or its is None or (mine == _ITEMS and its is None) for mine, its in pairs
    )


def _dotted(steps: Steps) -> str:
    return ".".join(step or _ITEMS for step in steps).replace(f".{_ITEMS}", _ITEMS)


def _parameters(owner: RegoSource, sources: Sequence[RegoSource], custom: Any) -> Iterator[Problem]:
    wanted = custom.get("parameters") or {}
    prefix = ("data", *_PARAMETERS, *owner.package[2:])
    reads = [read for _, _, read in _read(sources, prefix)]
    if any(not read or read[0] is None for read in reads):
        return  # All of them, as one value.
    for name in wanted:
        if not any(read[0] == name for read in reads):
            yield owner.problem(
                _line_of(owner, str(name)),
                "unused-parameter",
                f"declares the parameter {name} and does not read it",
                f"read data.sallyport.parameters.{'.'.join(owner.package[2:])}.{name}, or leave "
                "it out: whoever sets it would believe that it does something",
            )


def _texts(owner: RegoSource, own: Sequence[RegoSource], custom: Any) -> Iterator[Problem]:
    remedy = str(custom.get("remedy") or "")
    if remedy and _NO_VERB.match(remedy):
        yield owner.warning(
            _line_of(owner, "remedy"),
            "remedy-verb",
            "the remedy does not begin with what to do",
            "begin with a verb: Set …, Add …, Remove …",
        )
    for source in own:
        for node in walk(source.rules):
            text = node.get("value")
            if node.get("type") == "string" and len(str(text)) > _MOST_OF_MESSAGE:
                yield source.problem(
                    node,
                    "long-message",
                    f"a text of {len(str(text))} characters, of which people read the first line",
                    f"say it in {_MOST_OF_MESSAGE}; the rest belongs in the remedy or on its page",
                )


def _line_of(source: RegoSource, word: str) -> dict[str, Any]:
    """Return the place of a word in the METADATA, as nodes have theirs."""
    at = source.annotations.get("location") or {}
    first = int(at.get("row", 1))
    named = {word, json.dumps(word)}
    for row, line in enumerate(source.text.splitlines()[first - 1 :], first):
        if not line.startswith("#"):
            break
        if any(each in line for each in named):
            return {"location": {"row": row, "col": line.index(word) + 1}}
    return {"location": at}
