"""Documents of each release stay readable, and what changes of them is seen."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.compat.documents import KINDS, WITH_KEYS, understood
from tests.compat.releases import BEFORE, GOLDEN, NEXT, released
from tests.compat.shapes import Shape, broken, shapes

LATER = 7
"""A format that no reader of now knows."""


@pytest.mark.parametrize("release", released())
def test_documents_of_a_release_mean_what_they_meant(release: str) -> None:
    """Each is read, and is understood as that release understood it itself."""
    folder = GOLDEN / release
    then = json.loads((folder / "understood.json").read_text())
    assert then.keys() == KINDS.keys() - set(WITH_KEYS)
    assert _common(json.loads(json.dumps(understood(folder))), then) == then


@pytest.mark.parametrize("release", [name for name in released() if name != NEXT])
def test_no_field_of_a_release_has_another_meaning(release: str) -> None:
    """None has another type; none that is demanded went; each new one has a default."""
    then = json.loads((GOLDEN / release / "shapes.json").read_text())
    assert broken(then, shapes()) == []


def test_a_changed_document_is_recorded() -> None:
    """If this fails: `python -m tests.compat.recording`, and look at what it changes."""
    recorded = json.loads((GOLDEN / NEXT / "shapes.json").read_text())
    now = json.loads(json.dumps(shapes()))
    assert {name for name in now | recorded if now.get(name) != recorded.get(name)} == set()


def test_what_would_break_a_release_is_seen() -> None:
    """A field with another type, one that went, one without default, a value that went."""
    before: dict[str, Shape] = {
        "a": {"fields": {"x": "int", "y": "str", "z": "str"}, "required": ["x", "y"]},
        "b": {"values": ["one", "two"]},
        "c": {"fields": {}, "required": []},
    }
    after: dict[str, Shape] = {
        "a": {"fields": {"x": "str", "w": "int"}, "required": ["x", "w"]},
        "b": {"values": ["one", "three"]},
    }
    assert len(broken(before, after)) == 5
    assert broken(before, before) == []


def _json(change: Callable[[Any], None]) -> Callable[[bytes], bytes]:
    def changed(content: bytes) -> bytes:
        document = json.loads(content)
        change(document)
        return json.dumps(document).encode()

    return changed


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("decision.json", _json(lambda each: each.update(format=LATER))),
        ("sweep.json", _json(lambda each: each.update(format=LATER))),
        ("look-back.json", _json(lambda each: each.update(format=LATER))),
        ("segment.spool", lambda content: content[:8] + bytes([0, 0, 0, LATER]) + content[12:]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_format_of_the_far_future_is_refused_by_name(
    tmp_path: Path, name: str, change: Callable[[bytes], bytes]
) -> None:
    """The error says that it is the format, and which: nobody reads it as something else."""
    shutil.copy(GOLDEN / BEFORE / name, tmp_path)
    (tmp_path / name).write_bytes(change((tmp_path / name).read_bytes()))
    with pytest.raises(ValueError, match=rf"format.*{LATER}"):
        understood(tmp_path)


def _common(now: Any, then: Any) -> Any:
    """Return of `now` the fields that `then` has: a later release may know more."""
    if isinstance(now, dict) and isinstance(then, dict):
        return {key: _common(now[key], value) for key, value in then.items() if key in now}
    if isinstance(now, list) and isinstance(then, list) and len(now) == len(then):
        return [_common(one, other) for one, other in zip(now, then, strict=True)]
    return now
