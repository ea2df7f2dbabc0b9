"""A world in which something may have to run in a sandbox."""

from collections.abc import Mapping
from typing import Any

import msgspec

from admission.gather import Gatherer
from admission.judge import Judge
from core.cluster import Cluster
from core.decision.decision import Decision
from core.decision.request import Phase, Request
from core.sandbox.decision import Feature, Signal
from identity.subjects import parse_controllers
from policies.bundle.format import Rule
from policies.engine.interface import A_POD, Engine, Judgement, PolicyAnswer, ShownFields
from sandbox.runtime_choice import DEFAULT_SANDBOX_SETTINGS, SandboxSettings
from tests.unit.admission.requester.test_noted_workloads import workload as any_workload
from tests.unit.admission.world import ID, Folder
from tests.unit.admission.world import pod as any_pod

LABEL = "sallyport.dev/sandbox"
NOTEBOOK = Signal("sandbox/test/notebook", "spec.containers[0].image", "jupyter", "trainer")
NETWORK = Feature("host-network", "spec.hostNetwork")
POINTS = 60

SET = [{"op": "add", "path": "/spec/runtimeClassName", "value": "gvisor"}]
"""What the mutating pass does to a Pod."""

_RULE = Rule(
    id=NOTEBOOK.rule,
    title="A notebook",
    description="Runs code that nobody has read.",
    message="runs a notebook: {value}",
    remedy="Do not.",
    since=3,
    points=POINTS,
)


class Saying:
    """The built-in policies, which of every object say some signals and features besides."""

    def __init__(
        self,
        engine: Engine,
        signals: tuple[Signal, ...] = (),
        features: tuple[Feature, ...] = (),
    ) -> None:
        self._engine = engine
        self._said = (signals, features)
        self.revision = engine.revision
        self.reads = engine.reads
        self.rules: Mapping[str, Rule] = {**engine.rules, _RULE.id: _RULE}

    async def ask(self, projection: bytes) -> PolicyAnswer:
        """Return the needs of the built-in ones, and what is said besides."""
        signals, features = self._said
        answer = await self._engine.ask(projection)
        return msgspec.structs.replace(answer, signals=signals, features=features)

    async def judge(
        self, projection: bytes, answer: PolicyAnswer, context: bytes, shown: ShownFields = A_POD
    ) -> Judgement:
        """Judge as the built-in ones do."""
        return await self._engine.judge(projection, answer, context, shown)

    def close(self) -> None:
        """Leave the engine to whose it is."""


def runtime_class(folder: Folder, name: str = "gvisor", handler: str = "runsc") -> Folder:
    """Add a RuntimeClass."""
    folder.documents.append(
        {
            "apiVersion": "node.k8s.io/v1",
            "kind": "RuntimeClass",
            "metadata": {"name": name},
            "handler": handler,
        }
    )
    return folder


def namespace(folder: Folder, value: str | None, mode: str = "enforce") -> Folder:
    """Add the namespace `train`, with the label or without."""
    folder.namespace("train", mode=mode)
    if value is not None:
        folder.documents[-1]["metadata"]["labels"][LABEL] = value
    return folder


def profiled(folder: Folder, name: str, sandbox: str | None, rank: int = 1) -> Folder:
    """Add a profile for what every Pod here needs, which everyone may use."""
    folder.profile(name, rank, "**", catalogue=3)
    if sandbox is not None:
        folder.documents[-1]["spec"]["sandbox"] = sandbox
    folder.grant("Group:system:authenticated", name)
    return folder.grant("ServiceAccount:train/default", name)


def judge(
    cluster: Cluster, engine: Engine, site: SandboxSettings = DEFAULT_SANDBOX_SETTINGS, **more: Any
) -> Judge:
    """Return a judge of a site."""
    gatherer = Gatherer(cluster, engine, parse_controllers([]), sandbox_settings=site, **more)
    return Judge(gatherer, new_id=lambda: ID)


async def final(by: Judge, asked: Request) -> Decision:
    """Judge the final state, as kube-apiserver asks of it."""
    return await by.validate(_in(asked, Phase.VALIDATING), budget=10)


async def mutated(by: Judge, asked: Request) -> Decision:
    """Return what the mutating pass says."""
    return await by.mutate(_in(asked, Phase.MUTATING), budget=10)


def _in(asked: Request, phase: Phase) -> Request:
    return msgspec.structs.replace(asked, phase=phase)


def pod(**more: Any) -> dict[str, Any]:
    """Return a Pod that sandboxes can run: a user namespace keeps it from starting in one."""
    return any_pod(**{"hostUsers": None} | more)


def workload(*of: Any, **more: Any) -> dict[str, Any]:
    """Return a Deployment of such Pods."""
    return any_workload(*of, **{"hostUsers": None} | more)


def labelled(value: str, **spec: Any) -> dict[str, Any]:
    """Return a Pod whose author asks for a sandbox."""
    made = pod(**spec)
    made["metadata"]["labels"] = {LABEL: value}
    return made
