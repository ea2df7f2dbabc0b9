"""The suggested profile as YAML, with the evidence beside each privilege."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from core.base.safe_text import safe_line
from core.profiles.suggestion import NeedPlace, SuggestedLine

_PLAIN: Final = re.compile(r"[a-z][A-Za-z0-9._:/-]*[A-Za-z0-9._/-]")
"""Words that YAML reads as they are: no indicator at the start, no colon at the end."""

_SHOWN_FOLDS: Final = 3


def profile_yaml(profile: Mapping[str, Any], lines: Sequence[SuggestedLine]) -> str:
    """Return the YAML of a profile whose privileges are `lines`."""
    return "\n".join(_lines(profile, lines)) + "\n"


def _lines(profile: Mapping[str, Any], lines: Sequence[SuggestedLine]) -> Iterator[str]:
    spec = profile["spec"]
    yield f"apiVersion: {profile['apiVersion']}"
    yield f"kind: {profile['kind']}"
    yield "metadata:"
    yield f"  name: {json.dumps(profile['metadata']['name'])}"
    yield "spec:"
    yield f"  description: {json.dumps(spec['description'])}"
    yield f"  rank: {spec['rank']}  # 0 to 1000: of the profiles that cover, the lowest is taken"
    yield f"  catalogue: {spec['catalogue']}"
    if not lines:
        yield "  privileges: []  # it needs none"
        return
    yield "  privileges:"
    for line in lines:
        yield f"    - {_scalar(line.privilege)}  # {_evidence(line)}"


def _scalar(privilege: str) -> str:
    return privilege if _PLAIN.fullmatch(privilege) and "/" in privilege else json.dumps(privilege)


def _evidence(line: SuggestedLine) -> str:
    more = len(line.places) - 1 + line.more_places
    text = _place(line.places[0]) + (f"; and {more} more" if more else "")
    if line.folds:
        shown = ", ".join(line.folds[:_SHOWN_FOLDS])
        left = len(line.folds) - _SHOWN_FOLDS
        text = f"wider than needed, for {shown}" + f" and {left} more" * (left > 0) + f": {text}"
    return safe_line(text)


def _place(place: NeedPlace) -> str:
    container = f", container {place.container}" if place.container else ""
    return f"{place.object}{container}: {place.path or 'the object'}"
