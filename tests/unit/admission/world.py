"""A small world to judge in: a folder of YAML for a cluster, requests, and a cluster that fails."""

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml

from admission.gather import Gatherer
from admission.judge import Judge
from core.cluster import Cluster
from core.decision.decision import Decision, Evidence
from core.decision.namespaces import Mode, Modes
from core.decision.request import Kind, Operation, Request
from core.people.subject import Subject
from core.profiles.container_profiles import ContainerProfile
from identity.subjects import parse_controllers
from kube.cluster.folder import FolderCluster, read_profiles
from policies import SHIPPED_PROFILES
from policies.engine.interface import Engine

ID = "0199a0c0-0000-7000-8000-000000000000"

POD = Kind("Pod", "v1")
NAMESPACE = Kind("Namespace", "v1")

ALICE = Subject("alice@example.com", groups=["researchers", "system:authenticated"])
BOB = Subject("bob@example.com", groups=["system:authenticated"])
ADMIN = Subject("root@example.com", groups=["system:masters", "system:authenticated"])

IMAGE = f"registry.example/trainer@sha256:{64 * 'a'}"

PULLS = "image/from/registry.example/trainer"
"""The privilege that every Pod here needs."""

OTHER = f"registry.example/other@sha256:{64 * 'b'}"

RESTRICTED: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "llama-0", "namespace": "train"},
    "spec": {
        "automountServiceAccountToken": False,
        "hostUsers": False,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "trainer",
                "image": IMAGE,
                "resources": {"limits": {"cpu": "1", "memory": "1Gi"}},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                    "readOnlyRootFilesystem": True,
                },
            }
        ],
    },
}
"""A Pod that needs no privilege but the one that every Pod needs: to pull its image."""


def pod(
    *,
    annotations: Mapping[str, str] | None = None,
    owner: tuple[str, str] | None = None,
    add: list[str] | None = None,
    image: str = IMAGE,
    **spec: Any,
) -> dict[str, Any]:
    """Return RESTRICTED with changes; `add` are capabilities, `owner` is (apiVersion, kind)."""
    made = copy.deepcopy(RESTRICTED)
    if annotations is not None:
        made["metadata"]["annotations"] = dict(annotations)
    if owner:
        reference = {"apiVersion": owner[0], "kind": owner[1], "name": "o", "uid": "u"}
        made["metadata"]["ownerReferences"] = [reference]
    container = made["spec"]["containers"][0]
    container["image"] = image
    if add:
        container["securityContext"]["capabilities"]["add"] = add
    made["spec"].update(spec)
    return made


def raw(value: object) -> msgspec.Raw:
    """Return a value as the JSON that a request carries."""
    return msgspec.Raw(msgspec.json.encode(value))


def request(
    made: object,
    subject: Subject = ALICE,
    *,
    old: object = None,
    operation: Operation = Operation.CREATE,
    **more: Any,
) -> Request:
    """Return a request; `made` and `old` are objects, or JSON as bytes; `more` are its fields."""
    objects = [
        msgspec.Raw(value) if isinstance(value, bytes) else raw(value) if value else None
        for value in (made, old)
    ]
    fields: dict[str, Any] = {
        "uid": "705ab4f5",
        "kind": POD,
        "namespace": "train",
        "name": "llama-0",
        "authenticated": True,
    } | more
    return Request(
        operation=operation, subject=subject, submitted=objects[0], old_object=objects[1], **fields
    )


def update(made: object, old: object, subject: Subject = ALICE, **more: Any) -> Request:
    """Return a request that changes a Pod."""
    return request(made, subject, old=old, operation=Operation.UPDATE, **more)


@cache
def _pod_security() -> tuple[ContainerProfile, ...]:
    """Return the shipped profiles of the Pod Security Standards."""
    return tuple(p for p in read_profiles([SHIPPED_PROFILES]) if p.name.startswith("pss-"))


@dataclass
class Folder:
    """Writes a cluster down as YAML."""

    path: Path
    documents: list[dict[str, Any]] = field(default_factory=list)

    def profile(
        self, name: str, rank: int, *privileges: str, includes: str = "", catalogue: int = 2
    ) -> "Folder":
        """Add a profile for any image; `includes` are names with spaces between."""
        spec = {"rank": rank, "catalogue": catalogue, "privileges": ["image/from/**", *privileges]}
        return self._add(
            "sallyport.dev/v1alpha1",
            "ContainerProfile",
            {"name": name},
            spec=spec | {"includes": includes.split()},
        )

    def namespace(self, name: str, *, mode: str | None = None, **annotations: str) -> "Folder":
        """Add a namespace; annotations are named without `sallyport.dev/`."""
        labels = {} if mode is None else {"sallyport.dev/mode": mode}
        marks = {f"sallyport.dev/{key}": value for key, value in annotations.items()}
        return self._add("v1", "Namespace", {"name": name, "labels": labels, "annotations": marks})

    def add_pod(self, made: dict[str, Any]) -> "Folder":
        """Add a Pod that runs."""
        self.documents.append(made)
        return self

    def grant(
        self,
        who: str,
        *profiles: str,
        namespace: str = "",
        verb: str = "use",
        resource: str = "containerprofiles",
    ) -> "Folder":
        """Let `User:name`, `Group:name` or `ServiceAccount:ns/name` use profiles; none is all."""
        kind, _, subject = who.partition(":")
        name = f"grant-{len(self.documents)}"
        rule: dict[str, Any] = {
            "apiGroups": ["sallyport.dev"],
            "resources": [resource],
            "verbs": [verb],
        }
        if profiles:
            rule["resourceNames"] = list(profiles)
        self._add("rbac.authorization.k8s.io/v1", "ClusterRole", {"name": name}, rules=[rule])
        bound: dict[str, Any] = {"kind": kind, "name": subject}
        if kind == "ServiceAccount":
            place, _, account = subject.partition("/")
            bound |= {"namespace": place, "name": account}
        else:
            bound["apiGroup"] = "rbac.authorization.k8s.io"
        scoped = {"namespace": namespace} if namespace else {}
        return self._add(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding" if namespace else "ClusterRoleBinding",
            {"name": name} | scoped,
            roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            subjects=[bound],
        )

    def cluster(self) -> FolderCluster:
        """Write the folder, and give the cluster that reads it; shipped are pss-* alone."""
        self.path.mkdir(exist_ok=True)
        written = yaml.dump_all(self.documents, Dumper=yaml.CSafeDumper)
        (self.path / "cluster.yaml").write_text(written)
        return FolderCluster(self.path, shipped=_pod_security())

    def _add(self, api_version: str, kind: str, metadata: dict[str, Any], **more: Any) -> "Folder":
        document = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
        self.documents.append(document | more)
        return self


def judge_of(
    cluster: Cluster,
    engine: Engine,
    *,
    mode: Mode = Mode.ENFORCE,
    controllers: Iterable[str] = (),
) -> Judge:
    """Return a judge whose decisions have the id `ID`."""
    gatherer = Gatherer(cluster, engine, parse_controllers(controllers))
    return Judge(gatherer, Modes(default=mode), lambda: ID)


async def decide(
    cluster: Cluster, engine: Engine, asked: Request, *, budget: float = 10.0, **more: Any
) -> Decision:
    """Return the validating decision on a request."""
    return await judge_of(cluster, engine, **more).validate(asked, budget=budget)


def without_evidence(decision: Decision) -> Decision:
    """Return what is answered: the evidence goes to the record, and has times in it."""
    return msgspec.structs.replace(decision, evidence=Evidence())


def rules(decision: Decision) -> list[tuple[str, str | None]]:
    """Return rule and privilege of each finding, in order."""
    return [(finding.rule, finding.privilege) for finding in decision.findings]
