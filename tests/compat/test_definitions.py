"""Objects that people wrote for the release before are still served, and lose no field."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.compat.releases import BEFORE, code_of
from tests.harness.evidence import ROOT

CRDS = Path("helm", "sallyport-crds", "templates")

Json = dict[str, Any]


def versions(code: Path) -> dict[str, Json]:
    """Return the schema of each served version, by kind and version."""
    return {
        f"{item['spec']['names']['kind']}/{version['name']}": version
        for path in sorted((code / CRDS).glob("*.yaml"))
        for item in yaml.safe_load_all(path.read_text())
        for version in item["spec"]["versions"]
        if version["served"]
    }


def narrowed(old: Json, new: Json, at: str = "") -> Iterator[str]:
    """Say what of an object that the old schema takes the new one refuses or prunes."""
    if old.get("type") != new.get("type"):
        yield f"{at}: {old.get('type')} became {new.get('type')}"
    yield from (f"{at}.{name} is demanded" for name in _more(new, old, "required"))
    if "enum" in new:
        yield from (f"{at}: {value!r} is refused" for value in _more(old, new, "enum"))
    for limit in ("maxLength", "maxItems", "maxProperties", "maximum"):
        if new.get(limit, float("inf")) < old.get(limit, float("inf")):
            yield f"{at}: {limit} is {new[limit]}"
    for name, schema in old.get("properties", {}).items():
        if name in new.get("properties", {}):
            yield from narrowed(schema, new["properties"][name], f"{at}.{name}")
        else:
            yield f"{at}.{name} is pruned"
    if isinstance(old.get("items"), dict):
        yield from narrowed(old["items"], new.get("items", {}), f"{at}[]")


def _more(one: Json, other: Json, key: str) -> list[Any]:
    return [value for value in one.get(key, ()) if value not in other.get(key, ())]


def test_no_kind_became_narrower(tmp_path: Path) -> None:
    """Each version that was served is; it takes all that it took."""
    before, now = versions(code_of(BEFORE, tmp_path)), versions(ROOT)
    assert len(before) > 5
    assert before.keys() <= now.keys()
    problems = {
        name: found
        for name, each in before.items()
        if (
            found := list(
                narrowed(each["schema"]["openAPIV3Schema"], now[name]["schema"]["openAPIV3Schema"])
            )
        )
    }
    assert problems == {}


@pytest.mark.parametrize(
    "new",
    [
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"a": {"type": "integer"}}},
        {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}},
        {"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}}},
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    ],
    ids=["pruned", "another-type", "shorter", "fewer-values", "demanded"],
)
def test_what_makes_a_kind_narrower_is_seen(new: Json) -> None:
    """Each of these is one."""
    old = {"type": "object", "properties": {"a": {"type": "string", "enum": ["x", "y"]}}}
    assert len(list(narrowed(old, old))) == 0
    assert len(list(narrowed(old, new))) == 1
