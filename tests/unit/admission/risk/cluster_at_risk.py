"""A world in which somebody may be at risk."""

from collections.abc import Iterable
from typing import Any, Final

import msgspec

from admission.gather import Gatherer
from admission.judge import Judge
from core.decision.decision import Action, Decision
from core.decision.request import Phase, Request
from core.people.subject import Subject, service_account_subject
from core.profiles.container_profiles import CATALOGUE
from core.risk.model import (
    Application,
    ApplicationKind,
    Behaviour,
    BehaviourEntry,
    RiskEntry,
    RiskLevel,
    RiskSource,
    RiskState,
    identity_key,
    subject_key,
)
from core.risk.snapshot import Coverage, Head, RiskSnapshot, SnapshotDraft
from identity.risk.standings import Freshness
from identity.subjects import parse_controllers
from policies.engine.interface import Engine
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.objects.test_entering_pods import SHELL
from tests.unit.admission.requester.test_noted_workloads import notes
from tests.unit.admission.requester.test_owner_chain import owner
from tests.unit.admission.sandbox.sandbox_cluster import pod, runtime_class
from tests.unit.admission.world import ID, Folder, request

NOW: Final = 1_795_334_400.0
"""2026-11-22T08:00:00Z."""

TENANT: Final = "aaaaaaaa-0000-4000-8000-000000000001"
ELSEWHERE: Final = "aaaaaaaa-0000-4000-8000-000000000002"
EVENT: Final = "6a5874caabcd9d82"
CLIENT: Final = "00000000-0000-4000-8000-00000000000c"
SPARE: Final = "00000000-0000-4000-8000-00000000000e"
PRINCIPAL: Final = "00000000-0000-4000-8000-00000000000d"
"""Object id of the service principal of CLIENT."""

_GROUPS: Final = ["researchers", "system:authenticated"]
CAROL: Final = Subject(
    "carol@example.com", groups=_GROUPS, extra={"oid": ["00000000-0000-4000-8000-00000000000a"]}
)
DAVE: Final = Subject(
    "dave@example.com", groups=_GROUPS, extra={"oid": ["00000000-0000-4000-8000-00000000000b"]}
)
REPLICAS: Final = service_account_subject("kube-system", "replicaset-controller")

FRESH: Final = Coverage(as_of=NOW - 10)


def entry(
    level: RiskLevel = RiskLevel.MEDIUM, state: RiskState = RiskState.AT_RISK, **more: Any
) -> RiskEntry:
    """Return what a family says of somebody who came to be at risk half an hour ago."""
    made = RiskEntry(
        level=level,
        state=state,
        updated=int(NOW) - 600,
        since=int(NOW) - 1800,
        event_id=EVENT,
        event_type="unfamiliarFeatures",
    )
    return msgspec.structs.replace(made, **more)


def snapshot(
    *risky: Subject,
    level: RiskLevel = RiskLevel.MEDIUM,
    client: RiskLevel | None = None,
    acting: Behaviour | None = None,
    table: str = "",
    coverage: Coverage = FRESH,
) -> RiskSnapshot:
    """Return a snapshot in which these are at risk, CLIENT too, or Carol does something unusual."""
    draft = SnapshotDraft.of(RiskSnapshot())
    draft.head = Head(tenant=TENANT, users=coverage, service_principals=coverage, table=table)
    for subject in risky:
        draft.put(RiskSource.ENTRA, subject_key(subject), entry(level))
    draft.put_application(CLIENT, Application(ApplicationKind.APPLICATION, PRINCIPAL))
    if client is not None:
        draft.put(RiskSource.ENTRA, identity_key(PRINCIPAL), entry(client))
    if acting is not None:
        draft.put_behaviour(subject_key(CAROL), BehaviourEntry(acting, int(NOW) + 60))
    return draft.finish(NOW)


def account(folder: Folder, name: str, client: str | None = CLIENT, tenant: str = "") -> Folder:
    """Add a service account of `train` that signs in as a client id."""
    annotations = {"azure.workload.identity/client-id": client} if client else {}
    if tenant:
        annotations["azure.workload.identity/tenant-id"] = tenant
    metadata = {"name": name, "namespace": "train", "annotations": annotations}
    folder.documents.append({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    return folder


def everyone(folder: Folder, mode: str = "enforce", **labels: str) -> Folder:
    """Let everyone run and enter anything in `train`; labels are named without their group."""
    folder.documents.clear()
    folder.namespace("train", mode=mode)
    marks = {f"sallyport.dev/{key.replace('_', '-')}": word for key, word in labels.items()}
    folder.documents[-1]["metadata"]["labels"] |= marks
    runtime_class(folder).profile("all", 1, "**", *SHELL, catalogue=CATALOGUE)
    folder.grant("Group:system:authenticated", "all")
    return folder.grant("Group:system:serviceaccounts", "all").add_pod(pod())


def judge(
    cluster: Watched,
    engine: Engine,
    controllers: Iterable[str] = (),
    *,
    now: float = NOW,
    **more: Any,
) -> Judge:
    """Return a judge at a time."""
    freshness = Freshness(tenant=TENANT)
    gatherer = Gatherer(
        cluster,
        engine,
        parse_controllers(controllers),
        clock=lambda: now,
        freshness=freshness,
        **more,
    )
    return Judge(gatherer, new_id=lambda: ID)


async def decide(
    folder: Folder, engine: Engine, known: RiskSnapshot | None, asked: Request, **more: Any
) -> Decision:
    """Return the decision on the final state, with a snapshot or without."""
    cluster = Watched(folder.cluster(), snapshot=known)
    asked = msgspec.structs.replace(asked, phase=asked.phase or Phase.VALIDATING)
    return await judge(cluster, engine, **more).validate(asked, budget=10)


def said(decision: Decision, rule: str = "identity/") -> list[tuple[str, Action, str]]:
    """Return rule, action and path of what is said of identities."""
    return [(f.rule, f.action, f.path) for f in decision.findings if f.rule.startswith(rule)]


def made_for(folder: Folder, by: Subject, **spec: Any) -> Request:
    """Return the creation of a Pod of a ReplicaSet of a Deployment that somebody submitted."""
    above = owner(folder, "apps/v1", "Deployment", "llama", notes=notes(by.label, "all"))
    made = pod(**spec)
    made["metadata"]["ownerReferences"] = [
        owner(folder, "apps/v1", "ReplicaSet", "llama-1", above=above)
    ]
    return request(made, REPLICAS)


def of_table(effect: str, **row: Any) -> RiskSnapshot:
    """Return a snapshot of a site that has one row of its own, for Carol at medium risk."""
    fields = {"name": "ours", "standings": ["medium"], "effect": effect} | row
    return snapshot(CAROL, table=msgspec.json.encode({"format": 1, "rows": [fields]}).decode())


async def mutated(folder: Folder, engine: Engine, known: RiskSnapshot, asks: Request) -> Decision:
    """Return what the mutating pass says."""
    asks = msgspec.structs.replace(asks, phase=Phase.MUTATING)
    return await judge(Watched(folder.cluster(), snapshot=known), engine).mutate(asks, budget=10)
