"""Ways past the look at fields, in a namespace that refuses what nobody has judged."""

from typing import Any, Final

import pytest

from core.decision.request import Kind, Operation
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.fields.test_unknown_fields import judged, newer, told, world
from tests.unit.admission.world import Folder, pod

Json = dict[str, Any]
DEPLOYMENT: Final = Kind("Deployment", "v1", "apps")
FIELD: Final = "writableCgroups"


def deployment(made: Json, **spec: Any) -> Json:
    """Return a Deployment of a Pod."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": made["spec"]}
    selector = {"matchLabels": {"a": "b"}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "train"},
        "spec": {"selector": selector, "template": template, **spec},
    }


def two(first: object, second: object) -> Json:
    """Return a Pod of two containers, with the field where a value is given."""
    made = pod()
    (one,) = made["spec"]["containers"]
    made["spec"]["containers"] = []
    for name, value in (("one", first), ("two", second)):
        more = {} if value is None else {FIELD: value}
        context = {**one["securityContext"], **more}
        made["spec"]["containers"].append({**one, "name": name, "securityContext": context})
    return made


UPDATES: Final = {
    "given to a second container": (two("yes", None), two("yes", "yes")),
    "taken from one and given to the other": (two("yes", None), two(None, "yes")),
}


@pytest.mark.parametrize(("old", "new"), UPDATES.values(), ids=UPDATES)
async def test_a_field_that_was_elsewhere_before(
    engine: EmbeddedEngine, folder: Folder, old: Json, new: Json
) -> None:
    """Wants it in another container, since the object had the same field and value already."""
    more: Json = {"kind": DEPLOYMENT, "operation": Operation.UPDATE}
    cluster = world(folder, "refuse")
    decision = await judged(cluster, engine, deployment(new), old=deployment(old), **more)
    assert [path for path, _ in told(decision)] == [
        f"spec.template.spec.containers[1].securityContext.{FIELD}"
    ]
    assert not decision.allowed


async def test_containers_in_another_order_change_nothing(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Nor does a change elsewhere: what an update leaves does not count."""
    old, new = two("yes", "no"), two("yes", "no")
    new["spec"]["containers"].reverse()
    more: Json = {"kind": DEPLOYMENT, "operation": Operation.UPDATE}
    cluster = world(folder, "refuse")
    decision = await judged(cluster, engine, deployment(new), old=deployment(old), **more)
    assert told(decision) == []


async def test_behind_more_parts_than_are_looked_through(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Wants it past the bound of the search: what is not looked at may hold anything."""
    expressions = [{"key": "a", "operator": "Exists"}] * 21_000
    made = deployment(newer(), selector={"matchExpressions": expressions})
    made["spec"] = {"template": made["spec"]["template"], "selector": made["spec"]["selector"]}
    decision = await judged(world(folder, "refuse"), engine, made, kind=DEPLOYMENT)
    assert told(decision)
    assert not decision.allowed


async def test_behind_more_unknown_fields_than_are_told(
    engine: EmbeddedEngine, folder: Folder
) -> None:
    """Wants a new one past the bound, where the object had as many as are looked for before."""
    old = newer()
    old["spec"] |= {f"field{number}": number for number in range(40)}
    new = {**old, "spec": {**old["spec"], "field99": True}}
    del old["spec"]["containers"][0]["securityContext"][FIELD]
    more: Json = {"kind": DEPLOYMENT, "operation": Operation.UPDATE}
    cluster = world(folder, "refuse")
    decision = await judged(cluster, engine, deployment(new), old=deployment(old), **more)
    assert told(decision)
    assert not decision.allowed
    same = await judged(cluster, engine, deployment(old), old=deployment(old), **more)
    assert told(same) == []


SPELLED: Final[dict[str, object]] = {
    "null": None,
    "empty": {},
    "a list of lists": [[[{"a": []}]]],
    "a long text": "x" * 100_000,
}


@pytest.mark.parametrize("value", SPELLED.values(), ids=SPELLED)
async def test_an_unknown_field_of_an_odd_value(
    engine: EmbeddedEngine, folder: Folder, value: object
) -> None:
    """Wants a value that looks like nothing, or is too much to compare."""
    decision = await judged(world(folder, "refuse"), engine, newer(value=value))
    assert told(decision)
    assert not decision.allowed


NAMES: Final = ("", "hostNetwork ", "hostnetwork", "HostNetwork", "host\u200bNetwork", "template.x")


@pytest.mark.parametrize("name", NAMES)
async def test_an_unknown_field_of_an_odd_name(
    engine: EmbeddedEngine, folder: Folder, name: str
) -> None:
    """Wants a name that is taken for one that is known, or for a path."""
    made = pod()
    made["spec"][name] = True
    decision = await judged(world(folder, "refuse"), engine, made)
    assert len(told(decision)) == 1
    assert not decision.allowed


@pytest.mark.parametrize("where", ["initContainers", "ephemeralContainers"])
async def test_an_unknown_field_in_another_sort_of_container(
    engine: EmbeddedEngine, folder: Folder, where: str
) -> None:
    """Wants the table to know only ordinary containers."""
    made = pod()
    (one,) = newer()["spec"]["containers"]
    made["spec"][where] = [{**one, "name": "other"}]
    decision = await judged(world(folder, "refuse"), engine, made)
    assert [path for path, _ in told(decision)] == [f"spec.{where}[0].securityContext.{FIELD}"]
