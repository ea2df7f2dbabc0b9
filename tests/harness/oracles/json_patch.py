"""JSONPatch (RFC 6902), as far as Sallyport answers with it: add and remove, strictly."""

import copy
from collections.abc import Iterable
from typing import Any


class PatchError(Exception):
    """kube-apiserver would refuse this patch."""


def apply_patch(document: Any, patches: Iterable[dict[str, Any]]) -> Any:
    """Return a document with a patch applied; the document itself stays.

    Raises:
        PatchError: a parent is absent, an index is out of range, or what is removed is not there.
    """
    changed = copy.deepcopy(document)
    for patch in patches:
        *parents, last = (
            part.replace("~1", "/").replace("~0", "~") for part in patch["path"].split("/")[1:]
        )
        place = changed
        for part in parents:
            place = _within(place, part, patch)
        if patch["op"] == "add":
            _add(place, last, copy.deepcopy(patch["value"]), patch)
        elif patch["op"] == "remove":
            _within(place, last, patch)
            del place[int(last) if isinstance(place, list) else last]
        else:
            raise PatchError(patch)
    return changed


def _within(place: Any, part: str, patch: dict[str, Any]) -> Any:
    try:
        return place[int(part)] if isinstance(place, list) else place[part]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise PatchError(patch) from error


def _add(place: Any, last: str, value: Any, patch: dict[str, Any]) -> None:
    if isinstance(place, dict):
        place[last] = value
    elif isinstance(place, list) and last == "-":
        place.append(value)
    else:
        raise PatchError(patch)
