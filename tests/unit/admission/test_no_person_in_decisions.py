"""A decision goes to logs, audit and evidence: no person's name is in it, whatever happens."""

import base64
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.x509.oid import NameOID
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.decision.decision import Evidence
from core.decision.document import build_document, encode_document
from core.decision.request import Kind
from core.people.subject import Subject
from kube.cluster.folder import FolderCluster, read_profiles
from policies import SHIPPED_PROFILES
from policies.engine.embedded_engine import EmbeddedEngine
from policies.projection.rbac import RBAC
from tests.unit.admission.counting_cluster import Watched
from tests.unit.admission.world import (
    NAMESPACE,
    decide,
    judge_of,
    pod,
    request,
    update,
)

LABEL = attrgetter("label")
CANARY = "canary-7d1e"
CLUSTER = FolderCluster(None, shipped=read_profiles([SHIPPED_PROFILES]))
ASKED: list[tuple[object, dict[str, Any]]] = [
    (pod(), {}),
    (pod(hostNetwork=True), {}),
    (pod(owner=("batch/v1", "Job"), hostNetwork=True), {}),
    (pod(annotations={"sallyport.dev/profile": "gone"}), {}),
    (pod(annotations={"sallyport.dev/profile": "pss-baseline"}), {}),
    (pod(hostNetwork=True), {"asked_profile": "pss-restricted"}),
    ({"spec": 1}, {}),
    ({"metadata": {"labels": {"sallyport.dev/mode": "audit"}}}, {"kind": NAMESPACE, "name": "a"}),
]
NAMES = st.text(max_size=10).map(lambda text: f"{CANARY}{text}")
SUBJECTS = st.builds(
    Subject,
    NAMES | NAMES.map(lambda name: f"{name}@example.com"),
    NAMES,
    st.lists(NAMES | st.just("system:masters"), max_size=2),
    st.dictionaries(NAMES | st.just("oid"), st.lists(NAMES, max_size=2), max_size=2),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(subject=SUBJECTS, case=st.sampled_from(ASKED), fails=st.booleans())
async def test_no_persons_name_is_in_a_decision(
    engine: EmbeddedEngine, subject: Subject, case: tuple[object, dict[str, Any]], *, fails: bool
) -> None:
    """User name, uid, groups and extra: none of it, allowed, denied or not judged."""
    made, more = case
    cluster = Watched(CLUSTER, fails=frozenset("*") if fails else frozenset())
    judge = judge_of(cluster, engine)
    asked = request(made, subject, **more)
    for decision in (
        await judge.validate(asked, budget=5.0),
        await judge.mutate(asked, budget=5.0),
    ):
        answered = msgspec.structs.replace(decision, evidence=Evidence())
        assert CANARY not in msgspec.json.encode(answered).decode()
        assert CANARY not in repr(decision)
        document = build_document(
            "validate", asked, decision, cluster="c", seconds=0.1, name_subject=LABEL
        )
        assert CANARY not in encode_document(document).decode()


def _csr(name: str) -> dict[str, Any]:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    made = builder.sign(ed25519.Ed25519PrivateKey.generate(), None)
    pem = base64.b64encode(made.public_bytes(serialization.Encoding.PEM)).decode()
    return {"spec": {"signerName": "kubernetes.io/kube-apiserver-client", "request": pem}}


def _role(name: str, *resources: str) -> dict[str, Any]:
    rule = {"verbs": ["impersonate", "*"], "apiGroups": ["*"], "resources": resources}
    return {"metadata": {"name": "r"}, "rules": [{**rule, "resourceNames": [name]}]}


def _bound(name: str) -> dict[str, Any]:
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": "cluster-admin"}
    subjects = [{"apiGroup": RBAC, "kind": "User", "name": name}]
    return {"metadata": {"name": "b"}, "roleRef": reference, "subjects": subjects}


_ROLE = Kind("ClusterRole", "v1", RBAC)
NAMING: dict[str, tuple[Kind, Callable[[str], dict[str, Any]]]] = {
    "certificate": (Kind("CertificateSigningRequest", "v1", "certificates.k8s.io"), _csr),
    "users": (_ROLE, lambda name: _role(name, "users")),
    "uids": (_ROLE, lambda name: _role(name, "uids")),
    "extra": (_ROLE, lambda name: _role(name, "userextras/email")),
    "everything": (_ROLE, lambda name: _role(name, "*")),
    "mixed": (_ROLE, lambda name: _role(name, "users", "groups", "serviceaccounts")),
    "binding": (Kind("ClusterRoleBinding", "v1", RBAC), _bound),
}
"""Objects that name a user."""


@pytest.mark.parametrize("naming", NAMING)
@pytest.mark.parametrize("suffix", ["", "@example.com", " x"])
async def test_no_person_whom_an_object_names_is_in_a_decision(
    engine: EmbeddedEngine, naming: str, suffix: str
) -> None:
    """Neither in privileges nor in what policies saw, which is kept; refused and admitted."""
    kind, make = NAMING[naming]
    asked = request(make(f"{CANARY}{suffix}"), Subject("alice"), kind=kind, name="x", namespace="")
    judge = judge_of(CLUSTER, engine)
    for profile in (None, "pss-privileged", "isolated"):
        each = msgspec.structs.replace(asked, asked_profile=profile)
        decision = await judge.validate(each, budget=5.0)
        assert decision.evidence.needs, decision.message
        assert CANARY not in repr(decision)
        assert CANARY.encode() not in decision.evidence.projection
        document = build_document(
            "validate", each, decision, cluster="c", seconds=0.1, name_subject=LABEL
        )
        assert CANARY not in encode_document(document).decode()


@pytest.mark.parametrize("name", ["alice@example.com", "Alice Example", "eve"])
async def test_person_is_known_by_a_label(engine: EmbeddedEngine, name: str) -> None:
    """The decision names the subject so that it can be found again, and nobody else can read it."""
    decision = await decide(CLUSTER, engine, update(pod(image="b"), pod(), Subject(name)))
    assert decision.subjects == [Subject(name).label]
    assert name not in repr(decision)
