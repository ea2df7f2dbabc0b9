"""A world with model weights: a store, grants of it, and Pods that reach it."""

import datetime as dt
from typing import Any, Final

import msgspec

from admission.gather import Gatherer
from admission.judge import Judge
from core.approvals.approvals import account_of
from core.base.names import API_VERSION
from core.cluster import Cluster
from core.decision.decision import Decision
from core.decision.request import Request
from core.people.subject import Subject, service_account_subject
from core.people.two_person import ApprovalTerms, person_of, write_person
from core.weights.access_grants import parse_grant
from identity.subjects import parse_controllers
from policies.engine.embedded_engine import EmbeddedEngine
from tests.unit.admission.world import ALICE, ID, Folder, pod, raw

Object = dict[str, Any]

NOW: Final = dt.datetime(2026, 6, 1, tzinfo=dt.UTC).timestamp()
END: Final = "2026-06-01T01:00:00Z"
HOUR: Final = 3600.0

CLIENT: Final = "11111111-2222-3333-4444-555555555555"
HARMLESS: Final = "22222222-2222-3333-4444-555555555555"
ENDPOINT: Final = "10.1.0.5"

AUTHOR: Final = Subject("author@example.com")
ANN: Final = Subject("ann@example.com")
BEN: Final = Subject("ben@example.com")
CAROL: Final = Subject("Carol@example.com", groups=["llama-team", "system:authenticated"])
REPLICAS: Final = service_account_subject("kube-system", "replicaset-controller")

ORDINARY: Final = ApprovalTerms()

STORE: Final[Object] = {
    "apiVersion": API_VERSION,
    "kind": "WeightStore",
    "metadata": {"name": "llama", "uid": "store-1"},
    "spec": {
        "account": "llamaweights",
        "containers": [{"name": "prod"}],
        "owner": "weights-team",
        "privateEndpoints": [f"{ENDPOINT}/32"],
        "identities": [{"clientId": CLIENT, "rights": ["read"]}],
    },
}


def grant(name: str = "alice", **spec: Any) -> Object:
    """Return a grant of the store to Alice and the service account trainer.

    As a cluster holds it.
    """
    fields: Object = {
        "store": "llama",
        "rights": ["read"],
        "serviceAccounts": ["trainer"],
        "people": [ALICE.label],
        "reason": "training",
        "expiresAt": END,
    }
    whole = {key: value for key, value in (fields | spec).items() if value is not None}
    metadata = {
        "name": name,
        "namespace": "train",
        "uid": f"grant-{name}",
        "annotations": {"sallyport.dev/author": write_person(person_of(AUTHOR))},
    }
    return {"apiVersion": API_VERSION, "kind": "AccessGrant", "metadata": metadata, "spec": whole}


def approval(of: Object, who: Subject) -> Object:
    """Return an approval of a grant as a cluster holds it."""
    found = parse_grant(raw(of))
    annotations = {
        "sallyport.dev/approver-account": msgspec.json.encode(account_of(who)).decode(),
        "sallyport.dev/approved-uid": found.meta.uid,
        "sallyport.dev/approved-digest": found.approvable.digest,
    }
    name = f"{found.meta.name}-{who.username.partition('@')[0].lower()}"
    metadata = {"name": name, "namespace": "train", "uid": name, "annotations": annotations}
    wanted = {"kind": "AccessGrant", "name": found.meta.name}
    spec = {"for": wanted, "expiresAt": END}
    return {"apiVersion": API_VERSION, "kind": "Approval", "metadata": metadata, "spec": spec}


def approved(of: Object) -> list[Object]:
    """Return a grant and both approvals of it."""
    return [of, approval(of, ANN), approval(of, BEN)]


def world(folder: Folder, *items: Object, store: Object | None = STORE) -> Folder:
    """Everyone may run what they like in train; Ann and Ben approve; the account trainer."""
    folder.namespace("train", mode="enforce").namespace("other", mode="enforce")
    folder.grant("Group:system:authenticated", "pss-privileged")
    folder.grant("Group:system:serviceaccounts", "pss-privileged")
    for who in (ANN, BEN):
        folder.grant(f"User:{who.username}", "grants", verb="approve", resource="approvaltiers")
    for name, client in (("trainer", CLIENT), ("harmless", HARMLESS)):
        folder.documents.append(account(name, client))
    folder.documents += [*([store] if store else []), *items]
    return folder


def account(name: str, client: str = "") -> Object:
    """Return a service account that signs in as an application."""
    annotations = {"azure.workload.identity/client-id": client} if client else {}
    metadata = {"name": name, "namespace": "train", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}


def signing_in(name: str = "trainer", **spec: Any) -> Object:
    """Return a Pod that has a token for Entra, as this service account."""
    made = pod(serviceAccountName=name, **spec)
    made["metadata"]["labels"] = {"azure.workload.identity/use": "true"}
    return made


def mounting(name: str = "trainer", **attributes: str) -> Object:
    """Return a Pod that mounts weights itself, by workload identity."""
    said = {"storageAccount": "llamaweights", "containerName": "prod", "clientID": HARMLESS}
    driven = {"driver": "blob.csi.azure.com", "volumeAttributes": said | attributes}
    return pod(serviceAccountName=name, volumes=[{"name": "w", "csi": driven}])


def volume(claim: str = "train/weights", uid: str = "", name: str = "weights") -> Object:
    """Return a PersistentVolume of the weights; an empty `claim` is anyone's."""
    source = {
        "driver": "blob.csi.azure.com",
        "volumeHandle": "llamaweights_prod",
        "volumeAttributes": {"storageAccount": "llamaweights", "containerName": "prod"},
    }
    namespace, _, called = claim.partition("/")
    kept = {"claimRef": {"namespace": namespace, "name": called, "uid": uid}} if claim else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {"csi": source, "accessModes": ["ReadOnlyMany"], **kept},
    }


def claiming(claim: str = "weights", name: str = "trainer") -> Object:
    """Return a Pod that names a claim."""
    source = {"claimName": claim, "readOnly": True}
    return pod(serviceAccountName=name, volumes=[{"name": "w", "persistentVolumeClaim": source}])


def judge(
    cluster: Cluster, engine: EmbeddedEngine, now: float = NOW, terms: ApprovalTerms = ORDINARY
) -> Judge:
    """Return who judges at a time."""
    gatherer = Gatherer(cluster, engine, parse_controllers(()), terms, clock=lambda: now)
    return Judge(gatherer, new_id=lambda: ID)


async def decide(
    cluster: Cluster, engine: EmbeddedEngine, asked: Request, now: float = NOW
) -> Decision:
    """Return the validating decision at a time."""
    return await judge(cluster, engine, now).validate(asked, budget=10)


def rules(decision: Decision) -> set[str]:
    """Return the rules of the weights that spoke."""
    return {each.rule for each in decision.findings if each.rule.startswith("weights/")}
