"""What a Pod weighs is the same whether it was weighed before, or anything like it was.

Two judges of one cluster that changes between requests: one remembers all along, the other is made
anew for each request and remembers nothing.
"""

import asyncio
from collections.abc import Iterator
from typing import Final

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from admission.judge import Judge
from core.decision.decision import Decision
from core.decision.request import Request
from policies.bundle.format import read_bundle
from policies.engine.cache import RememberingEngine
from policies.engine.embedded_engine import EmbeddedEngine, EvaluationLimits
from policies.engine.interface import A_POD, Engine, Judgement, PolicyAnswer, ShownFields
from tests.unit.admission.sandbox.changing import (
    CHOICES,
    NOTEBOOK,
    NOW,
    REPLICAS,
    SITE,
    Changing,
    change,
    put,
    request_of,
    some,
)
from tests.unit.admission.sandbox.sandbox_cluster import judge, pod, profiled, runtime_class
from tests.unit.admission.world import Folder, request, without_evidence
from tests.unit.policies.bundles import METADATA, make_site_bundle

FIELDS: Final = (
    "operation",
    "subresource",
    "requester",
    "groups",
    "namespaceLabels",
    "newServiceAccount",
    "services",
    "risk",
    "behaviour",
    "absent",
)
"""All that the context has: each is shown by a site's signal, so that no difference is lost."""


def _site() -> dict[str, str]:
    shown = {field.lower(): f'"value": json.marshal(input.context.{field})' for field in FIELDS} | {
        "object": '"value": json.marshal([c.image | some c in input.projection.containers])'
    }
    head = METADATA.replace("points: 25", "points: 7").replace("does it (", "(")
    return {
        f"{name}.rego": (
            f"{head}package sallyport.sandbox.seen.{name}\n\n"
            f'signals contains {{"path": "", {value}}} if input.context.operation\n'
        )
        for name, value in shown.items()
    }


@pytest.fixture(scope="module", params=["built-in", "with a site's"])
def policies(
    request: pytest.FixtureRequest,
    engine: EmbeddedEngine,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Engine]:
    """The built-in policies, and those with signals of a site that show all of the context."""
    if request.param == "built-in":
        yield engine
        return
    bundle = read_bundle(make_site_bundle(tmp_path_factory.mktemp("site"), _site()))
    own = EmbeddedEngine(bundle, EvaluationLimits(seconds=5.0))
    yield own
    own.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Changing:
    """A sandbox, and a profile that all may use."""
    folder = Folder(tmp_path_factory.mktemp("cached") / "cluster")
    runtime_class(profiled(folder, "wide", None))
    folder.grant("ServiceAccount:train/robot", "wide")
    folder.grant("Group:system:serviceaccounts", "wide")
    return Changing(folder.cluster())


@pytest.fixture(scope="module")
def remembering(world: Changing, policies: Engine) -> Judge:
    """One that remembers all that it was ever asked; small, so that it forgets some too."""
    return _judge(world, RememberingEngine(policies, most_entries=40))


def _judge(world: Changing, engine: Engine) -> Judge:
    return judge(world, engine, SITE, clock=lambda: NOW)


def decided(by: Judge, question: Request) -> Decision:
    """Return what is answered."""
    return without_evidence(asyncio.run(by.validate(question, budget=10.0)))


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_what_was_weighed_before_does_not_matter(
    data: st.DataObject, world: Changing, policies: Engine, remembering: Judge
) -> None:
    """Verdict, findings, patches, each signal and its points: as if asked for the first time."""
    asked = some(data)
    for _ in range(data.draw(st.integers(1, 8))):
        put(world, asked)
        question = request_of(asked)
        expected = decided(_judge(world, policies), question)
        isolation = expected.isolation
        event(f"{expected.verdict.value}, {isolation is not None and len(isolation.signals)}")
        assert decided(remembering, question) == expected
        assert decided(remembering, question) == expected
        asked = change(asked, data)


class Counting(RememberingEngine):
    """Counts how often it is asked what a request weighs."""

    judged = 0

    async def judge(
        self, projection: bytes, answer: PolicyAnswer, context: bytes, shown: ShownFields = A_POD
    ) -> Judgement:
        """Return what is remembered, or is found."""
        self.judged += 1
        return await super().judge(projection, answer, context, shown)


def test_a_gang_is_weighed_once(world: Changing, policies: Engine) -> None:
    """The test above is not vacuous: a template's Pods are not weighed anew."""
    put(world, {key: values[0] for key, values in CHOICES.items()})
    question = request(pod(image=NOTEBOOK, owner=("apps/v1", "ReplicaSet")), REPLICAS)
    counting = Counting(policies)
    by = _judge(world, counting)
    found = [decided(by, question) for _ in range(3)]
    assert counting.judged == 1
    assert found == 3 * [decided(_judge(world, policies), question)]
    assert found[0].isolation is not None
    assert found[0].isolation.score


def test_of_large_pods_nothing_is_kept(world: Changing, policies: Engine) -> None:
    """Whoever may make Pods could fill the gate's memory with answers of megabytes each."""
    put(world, {key: values[0] for key, values in CHOICES.items()})
    large = pod()
    (container,) = large["spec"]["containers"]
    large["spec"]["containers"] = [container | {"name": f"c{i}"} for i in range(60)]
    counting = Counting(policies)
    by = _judge(world, counting)
    found = [decided(by, request(large, REPLICAS)) for _ in range(3)]
    assert counting.judged == 3
    assert found == 3 * [decided(_judge(world, policies), request(large, REPLICAS))]
