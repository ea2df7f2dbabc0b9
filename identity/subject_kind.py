"""The kind of identity that asks: pure, from the user info that kube-apiserver sends."""

import enum
from collections.abc import Collection
from typing import Final

from core.people.subject import SERVICE_ACCOUNT_PREFIX, Subject

ANONYMOUS: Final = "system:anonymous"
UNAUTHENTICATED: Final = "system:unauthenticated"
NODE_PREFIX: Final = "system:node:"
NODES_GROUP: Final = "system:nodes"


class SubjectKind(enum.Enum):
    """The sort of identity that a request comes from."""

    ENTRA_HUMAN = "entra-human"
    """Whose token carried an Entra object id (`extra.oid`). Entra gives one to its applications
    too: the operator lists those that are pipelines."""
    HUMAN = "human"
    """Any other user: of another OIDC issuer, or of a client certificate."""
    SERVICE_ACCOUNT = "service-account"
    NODE = "node"
    CONTROLLER = "controller"
    """What is configured to make objects for others."""
    PIPELINE = "pipeline"
    """A user or a service account that the operator lists as one."""
    COMPONENT = "component"
    """Another identity of the cluster itself (`system:…`)."""
    ANONYMOUS = "anonymous"


def kind_of(
    subject: Subject, controllers: Collection[str] = (), pipelines: Collection[str] = ()
) -> SubjectKind:
    """Return the kind of a subject; `controllers` and `pipelines` are user names.

    A user name counts only where kube-apiserver's own groups confirm it: a node is one of
    `system:nodes`, since an issuer's prefix may be chosen carelessly.
    """
    username, groups = subject.username, subject.groups
    if username == ANONYMOUS or UNAUTHENTICATED in groups or not username:
        return SubjectKind.ANONYMOUS
    if username in controllers:
        return SubjectKind.CONTROLLER
    if username in pipelines:
        return SubjectKind.PIPELINE
    if subject.is_system:
        return _of_the_cluster(username, groups)
    return SubjectKind.ENTRA_HUMAN if subject.label.startswith("oid:") else SubjectKind.HUMAN


def _of_the_cluster(username: str, groups: Collection[str]) -> SubjectKind:
    if username.startswith(SERVICE_ACCOUNT_PREFIX):
        return SubjectKind.SERVICE_ACCOUNT
    if username.startswith(NODE_PREFIX) and NODES_GROUP in groups:
        return SubjectKind.NODE
    return SubjectKind.COMPONENT
