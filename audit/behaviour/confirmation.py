"""Which acts in decisions of gates are true: what kube-apiserver says of them. Pure.

A decision is what a gate says, and the gate says it of whoever reaches its port: a stranger who
plays kube-apiserver makes up requests of other people. So nothing is learnt of a decision until one
of two others says the same:

- kube-apiserver's audit log, in which an event (auditID) of that user holds the decision's id as
  an annotation of the webhook. Only kube-apiserver writes it, and only of a request that came to
  it. This alone confirms refusals and CONNECT, which leave no object.
- an object that lives, as `control` sees it in kube-apiserver: its UID, the digest of its `spec`
  and the requester noted on it are those of the decision, which was taken within seconds of the
  object's creation. A UID alone proves nothing: whoever may read the object can copy it.
"""

from collections.abc import Callable
from typing import Final, TypeVar

import msgspec

from audit.access.attribution.creation_times import is_of_creation
from audit.access.attribution.lives import unix_seconds
from audit.access.parsers.kubernetes_audit import ENTERING
from audit.behaviour.acts import DecidedAct
from audit.ledger.records.frames import FrameKind
from core.weights.documents.events import Activity, Log, decode_activity
from core.weights.documents.pod_life import LifeEvent, decode_life

KINDS: Final = frozenset({FrameKind.ACTIVITY, FrameKind.POD_LIFE})
"""Of the ledger's records, those that can confirm a decision."""

REQUEST_S: Final = 60.0
"""The longest time between a request and its decision, by clocks that differ by some seconds: a
webhook has 30 s at most."""

_MOST_LABEL: Final = 256
"""Characters of a label that an activity keeps."""

_VERBS: Final = {
    "CREATE": frozenset({"create"}),
    "UPDATE": frozenset({"update", "patch"}),
    "DELETE": frozenset({"delete", "deletecollection"}),
}
"""The verbs of an audit event (k8s.io/apiserver, pkg/endpoints/request), by the operation of the
review. Server-side apply creates with `patch`; an update may create what is not there."""

_CREATING: Final = frozenset({"create", "update", "patch"})


class SeenRequest(msgspec.Struct, frozen=True, gc=False):
    """A request that kube-apiserver's audit log holds, with decisions that it was given."""

    cluster: str
    decisions: tuple[str, ...]
    requester: str
    """`Subject.label` of whom it was done as."""
    namespace: str
    name: str
    """Empty where the event has none: of what is created without a name."""
    verb: str
    resource: str
    subresource: str
    succeeded: bool
    at: float
    """Unix seconds: when kube-apiserver received it."""


class SeenObject(msgspec.Struct, frozen=True, gc=False):
    """An object that lives in a cluster."""

    cluster: str
    uid: str
    namespace: str
    requester: str
    """Noted on it by the gate, and held to the user who created it."""
    digest: str
    """Of its `spec`, as it was seen first."""
    made: float
    """Unix seconds: its `creationTimestamp`."""


Seen = SeenRequest | SeenObject

S = TypeVar("S", SeenRequest, SeenObject)


def seen_in(kind: int, content: bytes) -> Seen | None:
    """Return what a record of the ledger can confirm; None where it can confirm nothing.

    Most records cannot: they are not decoded.
    """
    try:
        if kind == FrameKind.ACTIVITY:
            return _request_of(decode_activity(content)) if b'"decision' in content else None
        if kind == FrameKind.POD_LIFE and b'"requester":"' in content:
            return _object_of(content)
    except (ValueError, RecursionError):
        return None  # Of a release too new; the ledger's reports say so.
    return None


def why_not_confirmed(decided: DecidedAct, seen: Seen) -> str:
    """Return the field in which a decision differs from what was seen; empty where in none."""
    if isinstance(seen, SeenObject):
        return _differs(decided, seen, _OBJECT_FIELDS)
    return _differs(decided, seen, _REQUEST_FIELDS)


def _request_of(activity: Activity) -> SeenRequest | None:
    facts, found = activity.facts, dict[str, None]()
    named = facts.get("decisions")
    for each in (facts.get("decision"), *(named.values() if isinstance(named, dict) else ())):
        if isinstance(each, str) and each:
            found[each.lower()] = None
    if activity.log is not Log.KUBERNETES or not found or not activity.principal:
        return None
    verb, _, target = activity.operation.partition(" ")
    resource, _, subresource = target.partition("/")
    return SeenRequest(
        activity.cluster,
        tuple(found),
        activity.principal,
        str(facts.get("namespace", _namespace(activity.resource))),
        activity.resource.rpartition("/")[2],
        verb,
        resource,
        subresource,
        activity.succeeded,
        unix_seconds(activity.time),
    )


def _namespace(resource: str) -> str:
    """Return the namespace of `namespace/name`; of a name alone none."""
    namespace, slash, _ = resource.partition("/")
    return namespace if slash else ""


def _object_of(content: bytes) -> SeenObject | None:
    life = decode_life(content)
    if life.event is not LifeEvent.SEEN or not (life.requester and life.digest):
        return None
    made = unix_seconds(life.time)
    return SeenObject(life.cluster, life.uid, life.namespace, life.requester, life.digest, made)


def _is_of_operation(decided: DecidedAct, seen: SeenRequest) -> bool:
    if decided.operation == "CONNECT":
        return seen.subresource in ENTERING
    if decided.operation == "CREATE" and not decided.subresource:
        return seen.verb in _CREATING
    return seen.verb in _VERBS.get(decided.operation, ())


def _is_of_kind(decided: DecidedAct, seen: SeenRequest) -> bool:
    """Return whether the event's resource is that of the decision's kind.

    A subresource may be of another kind than its resource: `pods/exec` is of PodExecOptions.
    """
    return bool(seen.subresource) or resource_of(decided.kind) == seen.resource


def _is_of_name(decided: DecidedAct, seen: SeenRequest) -> bool:
    """Return whether both name the same object, as far as both name one."""
    is_named = seen.name and decided.name and not decided.name.endswith("*")
    return not is_named or decided.name[:_MOST_LABEL] == seen.name[:_MOST_LABEL]


def resource_of(kind: str) -> str:
    """Return the resource of a kind, as kube-apiserver's own guess is.

    Source: k8s.io/apimachinery pkg/api/meta/restmapper.go, UnsafeGuessKindToResource. A definition
    may name another: its decisions are confirmed by no event.

    >>> resource_of("NetworkPolicy"), resource_of("StorageClass"), resource_of("Endpoints")
    ('networkpolicies', 'storageclasses', 'endpoints')
    """
    word = kind.lower()
    if word.endswith("endpoints"):
        return word
    if word.endswith("s"):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


_REQUEST_FIELDS: Final[dict[str, Callable[[DecidedAct, SeenRequest], bool]]] = {
    "cluster": lambda decided, seen: decided.act.cluster == seen.cluster,
    "requester": lambda decided, seen: decided.requester[:_MOST_LABEL] == seen.requester,
    "namespace": lambda decided, seen: decided.act.namespace == seen.namespace,
    "operation": _is_of_operation,
    "kind": _is_of_kind,
    "name": _is_of_name,
    "subresource": lambda decided, seen: decided.subresource == seen.subresource,
    "outcome": lambda decided, seen: seen.succeeded is not bool(decided.act.refused),
    "time": lambda decided, seen: abs(decided.act.at - seen.at) <= REQUEST_S,
}

_OBJECT_FIELDS: Final[dict[str, Callable[[DecidedAct, SeenObject], bool]]] = {
    "cluster": lambda decided, seen: decided.act.cluster == seen.cluster,
    "operation": lambda decided, _: decided.operation == "CREATE" and not decided.subresource,
    "outcome": lambda decided, _: not decided.act.refused,
    "uid": lambda decided, seen: decided.object_uid == seen.uid,
    "namespace": lambda decided, seen: decided.act.namespace == seen.namespace,
    "requester": lambda decided, seen: decided.requester == seen.requester,
    "digest": lambda decided, seen: decided.digest == seen.digest,
    "time": lambda decided, seen: is_of_creation(decided.act.at, seen.made),
}


def _differs(
    decided: DecidedAct, seen: S, fields: dict[str, Callable[[DecidedAct, S], bool]]
) -> str:
    return next((name for name, agrees in fields.items() if not agrees(decided, seen)), "")
