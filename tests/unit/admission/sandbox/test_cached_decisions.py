"""What a Pod weighs is the same whether it was weighed before, or anything like it was.

Two judges of one cluster that changes between requests: one remembers all along, the other is made
anew for each request and remembers nothing.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from admission.judge import Judge
from core.base.errors import NotSyncedError
from core.decision.decision import Decision
from core.decision.namespaces import Namespace
from core.decision.request import Operation, Phase, Request
from core.decision.requester_notes import OwnerObject, RequesterNotes
from core.kubernetes.object_meta import OwnerReference
from core.kubernetes.pod import Pod
from core.people.subject import Subject, service_account_subject
from core.risk.model import (
    Behaviour,
    BehaviourEntry,
    RiskEntry,
    RiskLevel,
    RiskSource,
    RiskState,
    identity_key,
)
from core.risk.snapshot import Coverage, Head, RiskSnapshot, SnapshotDraft
from policies.bundle.format import read_bundle
from policies.engine.cache import RememberingEngine
from policies.engine.embedded_engine import EmbeddedEngine, EvaluationLimits
from policies.engine.interface import A_POD, Engine, Judgement, PolicyAnswer, ShownFields
from sandbox.runtime_choice import SandboxSettings
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.objects.test_entering_pods import shell
from tests.unit.admission.requester.test_noted_workloads import DEPLOYMENT, workload
from tests.unit.admission.sandbox.sandbox_cluster import judge, pod, profiled, runtime_class
from tests.unit.admission.world import ALICE, BOB, IMAGE, OTHER, Folder, request, without_evidence
from tests.unit.policies.bundles import METADATA, make_site_bundle

SITE: Final = SandboxSettings(threshold=100, new_account_s=3600.0)
NOW: Final = 1_800_000_000.0
REPLICAS: Final = service_account_subject("kube-system", "replicaset-controller")
NOTEBOOK: Final = "docker.io/jupyter/base-notebook:latest"

AUTHOR: Final = "oid:00000000-0000-4000-8000-00000000000a"


def known(level: RiskLevel | None) -> RiskSnapshot:
    """Return a snapshot in which the author is at risk, or nobody is."""
    draft = SnapshotDraft.of(RiskSnapshot())
    draft.head = Head(users=Coverage(as_of=NOW - 10), service_principals=Coverage(as_of=NOW - 10))
    if level is not None:
        entry = RiskEntry(level=level, state=RiskState.AT_RISK, updated=int(NOW))
        draft.put(RiskSource.ENTRA, identity_key(AUTHOR), entry)
    return draft.finish(NOW)


CHOICES: Final[Mapping[str, tuple[Any, ...]]] = {
    "who": (
        REPLICAS,
        msgspec.structs.replace(REPLICAS, groups=[*REPLICAS.groups, "operators"]),
        service_account_subject("train", "robot"),
        service_account_subject("train", "default"),
        Subject("system:node:n1", groups=["system:nodes", "system:authenticated"]),
        Subject("system:node:n1", groups=["system:authenticated"]),
        ALICE,
        BOB,
        msgspec.structs.replace(ALICE, groups=["system:authenticated"]),
    ),
    "what": ("create", "update", "debug", "template", "enter"),
    "namespace": ("train", "other"),
    "phase": (Phase.VALIDATING, Phase.MUTATING, None),
    "dry_run": (False, True),
    "image": (IMAGE, NOTEBOOK),
    "labels": (
        {},
        None,
        {"app": "front"},
        {"app": "back"},
        {"sallyport.dev/sandbox": "no"},
        {"azure.workload.identity/use": "true"},
    ),
    "account": ("default", "robot"),
    "runtime": (None, "gvisor", "other", ""),
    "network": (False, True),
    "owned": (True, False),
    "marks of train": (
        {"sallyport.dev/sandbox": "by-risk"},
        {"sallyport.dev/sandbox": "by-risk", "team": "gold"},
        {"sallyport.dev/sandbox": "required"},
        {},
    ),
    "marks of other": ({"sallyport.dev/sandbox": "by-risk"}, {}),
    "services of train": ((), ("front",), ("front", "front-2")),
    "services of other": ((), ("front",)),
    "robot made": (0.0, NOW - 60),
    "services lost": (False, True),
    "author": ("", AUTHOR, "user:0123456789abcdef"),
    "risk": (
        None,
        RiskSnapshot(),
        *map(known, (None, RiskLevel.MEDIUM, RiskLevel.LOW, RiskLevel.HIGH)),
    ),
    "unusual": (False, True),
}
"""What a request and the cluster that it meets are made of: first of each what is most telling."""

UNUSUAL: Final[dict[int, RiskSnapshot]] = {}
"""The same snapshot stays the same object: what is remembered of one is told by its identity."""


def unusual(of: RiskSnapshot) -> RiskSnapshot:
    """Return a snapshot in which the author does something unusual besides."""
    draft = SnapshotDraft.of(of)
    draft.put_behaviour(identity_key(AUTHOR), BehaviourEntry(Behaviour.UNUSUAL_HOUR, int(NOW) + 60))
    return draft.finish(NOW)


Asked = dict[str, Any]
"""One of each."""


@dataclass
class Changing(Watched):
    """A cluster whose namespaces, Services and accounts change; what stays is the same object."""

    namespaces: dict[str, Namespace] = field(default_factory=dict)
    served: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By namespace: the Services that select what has the label `app: front`."""
    made: float = 0.0
    """When the account `robot` was."""
    running: dict[str, Any] = field(default_factory=pod)
    author: str = ""
    """Whose note is on the owner of Pods; empty where there is no owner."""

    async def owner(
        self, namespace: str, reference: OwnerReference, *, fresh: bool = False
    ) -> OwnerObject | None:
        """Return the owner of now."""
        del namespace, fresh
        if not self.author:
            return None
        return OwnerObject(
            "apps", "ReplicaSet", reference.name, reference.uid, RequesterNotes(self.author)
        )

    async def namespace(self, name: str) -> Namespace:
        """Return what it is now."""
        return self.namespaces[name]

    def exposing_services(self, namespace: str, labels: Mapping[str, str]) -> tuple[str, ...]:
        """Name the Services of now."""
        if self.lost == "services":
            raise NotSyncedError("the Services have not been loaded")
        return self.served.get(namespace, ()) if labels.get("app") == "front" else ()

    def service_account_made(self, namespace: str, name: str) -> float | None:
        """Return when the account was made."""
        del namespace
        return self.made if name == "robot" else 0.0

    async def pod(self, namespace: str, name: str) -> Pod | None:
        """Return the one that runs."""
        del namespace, name
        return msgspec.json.decode(msgspec.json.encode(self.running), type=Pod)


def some(data: st.DataObject) -> Asked:
    """Draw one of each, the first as often as all others."""
    return {
        key: data.draw(st.just(values[0]) | st.sampled_from(values))
        for key, values in CHOICES.items()
    }


def change(asked: Asked, data: st.DataObject) -> Asked:
    """Change one thing, or nothing: what is almost the same must not be taken for it."""
    key = data.draw(st.sampled_from(list(CHOICES)))
    return asked | {key: data.draw(st.sampled_from(CHOICES[key]))}


def put(world: Changing, asked: Asked) -> None:
    """Let the cluster be as it is asked for; what did not change stays the same object."""
    for name in ("train", "other"):
        labels = asked[f"marks of {name}"]
        known = world.namespaces.get(name)
        if known is None or known.labels != labels:
            world.namespaces[name] = Namespace(name, labels)
    world.served = {name: asked[f"services of {name}"] for name in ("train", "other")}
    world.made = asked["robot made"]
    world.lost = "services" if asked["services lost"] else ""
    world.running = made_of(asked)
    world.author = asked["author"]
    world.snapshot = asked["risk"]
    if asked["unusual"] and world.snapshot is not None:
        world.snapshot = UNUSUAL.setdefault(id(world.snapshot), unusual(world.snapshot))


def made_of(asked: Asked) -> dict[str, Any]:
    """Return the Pod."""
    spec = {"hostNetwork": asked["network"], "serviceAccountName": asked["account"]}
    if asked["runtime"] is not None:
        spec["runtimeClassName"] = asked["runtime"]
    owner = ("apps/v1", "ReplicaSet") if asked["owned"] else None
    made = pod(image=asked["image"], owner=owner, **spec)
    if owner:
        made["metadata"]["ownerReferences"][0]["controller"] = True
    if asked["labels"] is not None:
        made["metadata"]["labels"] = asked["labels"]
    return made


def request_of(asked: Asked) -> Request:
    """Return a request about a Pod, its template, a debug container in it, or a way into it."""
    who, made = asked["who"], made_of(asked)
    more: dict[str, Any] = {key: asked[key] for key in ("namespace", "phase", "dry_run")}
    added: dict[str, Any] = {"operation": Operation.UPDATE, "subresource": "ephemeralcontainers"}
    match asked["what"]:
        case "create":
            return request(made, who, **more)
        case "update":
            return request(made, who, old=pod(image=OTHER), operation=Operation.UPDATE, **more)
        case "debug":
            spec = made["spec"] | {"ephemeralContainers": [{"name": "d", "image": IMAGE}]}
            return request(made | {"spec": spec}, who, old=made, **added, **more)
        case "template":
            return request(workload(**made["spec"]), who, kind=DEPLOYMENT, **more)
        case _:
            return shell(who, **more)


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
        sandbox = expected.sandbox
        event(f"{expected.verdict.value}, {sandbox is not None and len(sandbox.signals)}")
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
    assert found[0].sandbox is not None
    assert found[0].sandbox.score


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


def test_of_pods_with_a_long_runtime_class_nothing_is_kept(
    world: Changing, policies: Engine
) -> None:
    """The name is no part of what the policies see, and is kept with the answer."""
    put(world, {key: values[0] for key, values in CHOICES.items()})
    named = pod(runtimeClassName="r" * 60_000)
    counting = Counting(policies)
    by = _judge(world, counting)
    for _ in range(3):
        decided(by, request(named, REPLICAS))
    assert counting.judged == 3
