"""What sort of identity asks."""

import pytest

from core.people.subject import Subject
from identity.subjects import SubjectKind, kind_of

OID = {"oid": ["11111111-2222-3333-4444-555555555555"]}
JOBS = "system:serviceaccount:kube-system:job-controller"
ARGO = "system:serviceaccount:argocd:argocd-application-controller"


@pytest.mark.parametrize(
    ("subject", "kind"),
    [
        (Subject("ann@example.com", extra=OID), SubjectKind.ENTRA_HUMAN),
        (Subject("ann@example.com", extra={"oid": ["not-an-id"]}), SubjectKind.HUMAN),
        (Subject("ann@example.com", extra={"oid": OID["oid"] * 2}), SubjectKind.HUMAN),
        (Subject("kubernetes-admin", groups=["system:masters"]), SubjectKind.HUMAN),
        (Subject("system:serviceaccount:train:default"), SubjectKind.SERVICE_ACCOUNT),
        (Subject("system:serviceaccount:train:default", extra=OID), SubjectKind.SERVICE_ACCOUNT),
        (Subject("system:node:n1", groups=["system:nodes"]), SubjectKind.NODE),
        (Subject("system:node:n1"), SubjectKind.COMPONENT),
        (Subject("system:kube-scheduler"), SubjectKind.COMPONENT),
        (Subject(JOBS), SubjectKind.CONTROLLER),
        (Subject(ARGO), SubjectKind.PIPELINE),
        (Subject("ci@example.com", extra=OID), SubjectKind.PIPELINE),
        (Subject("system:anonymous", groups=["system:unauthenticated"]), SubjectKind.ANONYMOUS),
        (Subject("ann", groups=["system:unauthenticated"]), SubjectKind.ANONYMOUS),
        (Subject(""), SubjectKind.ANONYMOUS),
    ],
)
def test_each_identity_has_one_kind(subject: Subject, kind: SubjectKind) -> None:
    """What kube-apiserver says counts before what a name looks like; the operator's lists too."""
    assert kind_of(subject, {JOBS}, {ARGO, "ci@example.com"}) is kind


def test_nobody_is_listed_unless_the_operator_says_so() -> None:
    """A service account is neither a controller nor a pipeline by its name alone."""
    assert kind_of(Subject(JOBS)) is SubjectKind.SERVICE_ACCOUNT
