"""The golden files of what is stored and of what is public: what they are called, what is in them.

    python -m tests.compat.recording

writes them anew, where that is meant.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.compat.identifiers import findings, identifiers
from tests.compat.public import PUBLIC
from tests.compat.stored_values import STORED, golden_of

_MADE: Final[Mapping[str, Callable[[], Any]]] = {
    **PUBLIC,
    "identifiers": identifiers,
    "findings": findings,
}


def _text(make: Callable[[], Any]) -> str:
    return json.dumps(make(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


CONTRACTS: Final[Mapping[str, Callable[[], str]]] = {
    **{f"stored/{name}.json": partial(golden_of, each) for name, each in STORED.items()},
    **{f"public/{name}.json": partial(_text, make) for name, make in _MADE.items()},
}
"""How each file is made, by its path."""


def kept_in(folder: Path) -> set[str]:
    """Name the files that a release has."""
    found = (path for part in ("stored", "public") for path in (folder / part).glob("*"))
    return {str(path.relative_to(folder)) for path in found}


def keep_contracts(folder: Path) -> None:
    """Write them all; those of what is not there any more go."""
    for name in kept_in(folder) - CONTRACTS.keys():
        (folder / name).unlink()
    for name, make in CONTRACTS.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(make())
