"""`python -m bench.weights`: the CPU that guarding model weights adds, in interleaved pairs.

Two gates judge the same Pods in the same cluster. Each names a claim whose volume shows weights,
under a live grant that two people approved. One gate finds that out; the other asks nobody.
"""

import datetime as dt
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from bench.added import Added, Case, measure_added
from bench.reviews import GANG, USUAL
from bench.rig import UNCACHED, Rig, rig
from bench.sandbox import NEW
from core.approvals.approvals import account_of
from core.base.names import API_VERSION
from core.people.subject import Subject
from core.people.two_person import person_of, write_person
from core.weights.access_grants import parse_grant

_APPROVERS: Final = (Subject("ann@example.com"), Subject("ben@example.com"))
_AUTHOR: Final = Subject("carol@example.com")
_PEOPLE: Final = (
    "oid:0c7f6f0e-5a3c-4c0e-9c1d-6f6f2b1f0a11",
    "oid:30000000-0000-4000-8000-000000000001",
)
"""Who submits the Pods of `bench.reviews`, and who submitted the Job of the gang."""

_Object = dict[str, Any]


@contextmanager
def _guarding() -> Iterator[Rig]:
    """Yield a rig whose Pods mount weights, under a grant."""
    with rig() as servers:
        guard_weights(servers.cluster)
        yield servers


def guard_weights(cluster: Path) -> None:
    """Put weights into the claim of the Pods, under a grant that two people approved."""
    objects = [_STORE, _VOLUME, *_granted(), *_rights()]
    (cluster / "weights.yaml").write_text(yaml.safe_dump_all(objects))


_STORE: Final[_Object] = {
    "apiVersion": API_VERSION,
    "kind": "WeightStore",
    "metadata": {"name": "llama", "uid": "store"},
    "spec": {
        "account": "llamaweights",
        "containers": [{"name": "prod"}],
        "owner": "weights-team",
        "privateEndpoints": ["10.1.0.5/32"],
        "identities": [{"clientId": "11111111-2222-3333-4444-555555555555", "rights": ["read"]}],
    },
}
_VOLUME: Final[_Object] = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "weights"},
    "spec": {
        "claimRef": {"namespace": "train", "name": "dataset"},
        "csi": {
            "driver": "blob.csi.azure.com",
            "volumeHandle": "weights",
            "volumeAttributes": {"storageAccount": "llamaweights", "containerName": "prod"},
        },
    },
}


def _granted() -> list[_Object]:
    ends = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    annotations = {"sallyport.dev/author": write_person(person_of(_AUTHOR))}
    place = {"namespace": "train"}
    grant: _Object = {
        "apiVersion": API_VERSION,
        "kind": "AccessGrant",
        "metadata": {"name": "llama", "uid": "grant", "annotations": annotations, **place},
        "spec": {
            "store": "llama",
            "rights": ["read", "write"],
            "serviceAccounts": ["trainer"],
            "people": list(_PEOPLE),
            "groups": ["researchers"],
            "reason": "a bench",
            "expiresAt": f"{ends:%Y-%m-%dT%H:%M:%SZ}",
        },
    }
    return [grant, *(_approval(grant, each) for each in _APPROVERS)]


def _approval(grant: _Object, who: Subject) -> _Object:
    found = parse_grant(msgspec.json.encode(grant))
    annotations = {
        "sallyport.dev/approver-account": msgspec.json.encode(account_of(who)).decode(),
        "sallyport.dev/approved-uid": found.meta.uid,
        "sallyport.dev/approved-digest": found.approvable.digest,
    }
    name = who.username.partition("@")[0]
    metadata = {"name": name, "namespace": "train", "uid": name, "annotations": annotations}
    wanted = {"kind": "AccessGrant", "name": "llama"}
    spec = {"for": wanted, "expiresAt": grant["spec"]["expiresAt"]}
    return {"apiVersion": API_VERSION, "kind": "Approval", "metadata": metadata, "spec": spec}


def _rights() -> list[_Object]:
    group = "rbac.authorization.k8s.io"
    rule = {
        "apiGroups": ["sallyport.dev"],
        "resources": ["approvaltiers"],
        "resourceNames": ["grants"],
        "verbs": ["approve"],
    }
    head = {"apiVersion": f"{group}/v1", "metadata": {"name": "approve-grants"}}
    subjects = [{"kind": "User", "apiGroup": group, "name": each.username} for each in _APPROVERS]
    role = {"apiGroup": group, "kind": "ClusterRole", "name": "approve-grants"}
    return [
        {**head, "kind": "ClusterRole", "rules": [rule]},
        {**head, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": subjects},
    ]


def main() -> None:
    """Measure, and print what was added."""
    measure_added(
        Added(
            program="bench.weights",
            described=__doc__,
            without="bench.without_weights",
            cases={
                "uncached": Case(USUAL, None, NEW, _guarding),
                "a gang": Case(GANG, None, rig=_guarding),
                "nothing remembered at all": Case(USUAL, None, UNCACHED, _guarding),
                "a gang, where there is no store": Case(GANG, None),
            },
            against="the same gate that asks nobody for weights, in the same cluster: each Pod's "
            "claim shows weights, under a live grant, but in the last case",
            page="weights-admission",
        )
    )


if __name__ == "__main__":
    main()
