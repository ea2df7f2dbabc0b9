"""A decision is the same whether the policies were asked or their answer was remembered."""

import asyncio
import copy
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from admission.judge import Judge
from core.decision.decision import Decision, Verdict
from core.decision.request import Kind, Operation, Request
from policies.engine.cache import RememberingEngine
from policies.engine.embedded_engine import EmbeddedEngine
from tests.harness.worlds.pods import pods
from tests.unit.admission.objects.test_privileged_objects import OBJECTS, asking, volume
from tests.unit.admission.world import (
    POD,
    Folder,
    judge_of,
    pod,
    request,
    without_evidence,
)

PODS = [made for _, (_, made) in zip(range(200), pods(seed=11), strict=False)]
CLAIMING = pod(volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}])
TEMPLATE = Kind("PodTemplate", "v1")

SCALARS: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, False, 0, 1, "", "a", "all", "void", "Unmasked", "0", "1Gi", [], {}]
)


@pytest.fixture(scope="module")
def judges(tmp_path_factory: pytest.TempPathFactory, engine: EmbeddedEngine) -> tuple[Judge, Judge]:
    """One that remembers, whatever else it was asked before, and one that does not."""
    folder = Folder(tmp_path_factory.mktemp("remembered") / "cluster")
    folder.grant("Group:system:authenticated", "pss-restricted")
    folder.profile("disk", 150, "volume/hostPath:ro/**", includes="pss-restricted")
    folder.grant("Group:researchers", "disk", namespace="train")
    folder.documents.append(volume("train/data"))
    cluster = folder.cluster()
    return judge_of(cluster, RememberingEngine(engine)), judge_of(cluster, engine)


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of everything in a JSON value."""
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    else:
        return [path]
    return [path, *(p for key, child in children for p in paths(child, (*path, key)))]


def changed(made: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    """Return an object with one thing changed, added or taken away."""
    found = copy.deepcopy(made)
    *parents, last = data.draw(st.sampled_from([p for p in paths(made) if p]))
    place: Any = found
    for key in parents:
        place = place[key]
    if data.draw(st.booleans()):
        place[last] = data.draw(SCALARS)
    else:
        del place[last]
    return found


def asked(data: st.DataObject) -> Request:
    """Return a request about a Pod, a template of one, a claim's Pod, or another object."""
    what = data.draw(st.sampled_from(["pod", "template", "claim", "update", "object"]))
    if what == "object":
        made = asking(data.draw(st.sampled_from(sorted(OBJECTS))))
        body = changed(msgspec.json.decode(made.object or b"{}"), data)
        return msgspec.structs.replace(made, submitted=msgspec.Raw(msgspec.json.encode(body)))
    plain = CLAIMING if what == "claim" else data.draw(st.sampled_from(PODS))
    body = changed(plain, data)
    if what == "template":
        return request({"metadata": {"name": "t"}, "template": body}, kind=TEMPLATE)
    namespace = data.draw(st.sampled_from(["train", "other"]))
    if what == "update":
        return request(body, old=plain, operation=Operation.UPDATE, kind=POD)
    return request(body, kind=POD, namespace=namespace)


def decided(judge: Judge, question: Request) -> Decision:
    """Return what is answered."""
    return without_evidence(asyncio.run(judge.validate(question, budget=10.0)))


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_remembered_or_not_the_decision_is_the_same(
    data: st.DataObject, judges: tuple[Judge, Judge]
) -> None:
    """Verdict, findings, paths, message: for whatever came before, of whatever kind."""
    question = asked(data)
    remembering, plain = judges
    expected = decided(plain, question)
    event(expected.verdict.value)
    assert decided(remembering, question) == expected
    assert decided(remembering, question) == expected


def test_both_verdicts_and_memory_occur(judges: tuple[Judge, Judge]) -> None:
    """The test above is not vacuous."""
    remembering, _ = judges
    inner = remembering.gatherer.engine
    assert isinstance(inner, RememberingEngine)
    before = inner.hits
    verdicts = {decided(remembering, request(made)).verdict for made in (*PODS[:50], *PODS[:50])}
    assert {Verdict.ALLOW, Verdict.DENY} <= verdicts
    assert inner.hits - before >= 50
