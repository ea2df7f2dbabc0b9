"""Reads events of kube-apiserver's audit log (audit.k8s.io/v1). Pure.

Of concern are who entered Pods, who read Secrets, which decisions of Sallyport kube-apiserver
itself recorded, and changes of rights, WeightStores and grants of which it recorded no decision.
`facts`: of EXEC `subresource`, `container`, `command` (its first word), `uid`, `decision`; of
SECRET_READ `verb`, `namespace`; of DECISION_SEEN `decision`, `decisions` (by webhook), `uid` (of
the object), `verdict`, `kind`, `namespace`, `name`; of OTHER `verb`, `kind`, `namespace`, `name`.
Of every topic `code`, `stage`, `allowed`, and `impersonator` where it was done in the name of
another.
"""

from typing import Any, Final
from urllib.parse import parse_qs

import msgspec

from audit.access.parsers.caller_networks import CallerLocator
from audit.access.parsers.log_times import parse_log_time
from audit.access.parsers.redaction import scrub, scrub_document, scrub_fields
from core.base.errors import UnreadableRecordError
from core.base.ids import stable_id
from core.base.names import GROUP
from core.people.subject import Subject
from core.weights.documents.events import FORMAT, Activity, Log, Topic

GROUP_OF_EVENTS: Final = "audit.k8s.io/"

ENTERING: Final = frozenset({"exec", "attach", "portforward", "proxy", "ephemeralcontainers"})
_READING: Final = frozenset({"get", "list", "watch"})
_CHANGING: Final = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_RIGHTS: Final = frozenset(
    {
        "roles",
        "rolebindings",
        "clusterroles",
        "clusterrolebindings",
        "certificatesigningrequests",
        "weightstores",
        "accessgrants",
    }
)
"""What names a role, a credential or a store."""

_ENDED: Final = frozenset({"ResponseComplete", "Panic"})
_LONG: Final = _ENDED | {"ResponseStarted"}
"""Stages at which what lasts counts: whoever entered a Pod for days is known at once. The later
stage of the same request has the same id."""

_COMPONENTS: Final = frozenset(
    {"system:apiserver", "system:kube-controller-manager", "system:kube-scheduler"}
)
"""Whose reading of Secrets is the cluster's own life; as that of nodes, which may read only those
of their Pods, it is left out, but for what was refused."""

_DECISION: Final = f".{GROUP}/decision"
_VERDICT: Final = f".{GROUP}/verdict"
_MOST_WORD: Final = 256
_FAILED: Final = 400


class _Part(msgspec.Struct, frozen=True, kw_only=True, rename="camel", gc=False):
    """Of an event; what is not named here is not kept."""


class _User(_Part, frozen=True, kw_only=True):
    username: str = ""
    groups: list[str] = []
    extra: dict[str, list[str]] = {}


class _Reference(_Part, frozen=True, kw_only=True):
    resource: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    subresource: str = ""


class _Status(_Part, frozen=True, kw_only=True):
    code: int = 0


class _Meta(_Part, frozen=True, kw_only=True):
    uid: str = ""
    name: str = ""


class _Object(_Part, frozen=True, kw_only=True):
    metadata: _Meta = _Meta()


class _Event(_Part, frozen=True, kw_only=True):
    api_version: str
    kind: str = ""
    audit_id: str = msgspec.field(name="auditID")
    stage: str = ""
    request_uri: str = msgspec.field(name="requestURI", default="")
    verb: str = ""
    user: _User = _User()
    impersonated_user: _User | None = None
    source_ips: list[str] = msgspec.field(name="sourceIPs", default_factory=list)
    object_ref: _Reference = _Reference()
    response_status: _Status = _Status()
    response_object: _Object = _Object()
    request_received_timestamp: str = ""
    stage_timestamp: str = ""
    annotations: dict[str, str] = {}


_DECODER: Final = msgspec.json.Decoder(_Event)


def parse_kubernetes(
    raw: bytes | msgspec.Raw, cluster: str, source: str, callers: CallerLocator
) -> Activity | None:
    """Read one event; None where it is of no concern here, or not at its end.

    Raises:
        UnreadableRecordError: it is none; with the reason.
    """
    try:
        event = _DECODER.decode(bytes(raw))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise UnreadableRecordError("is no event of audit.k8s.io/v1") from None
    if not event.api_version.startswith(GROUP_OF_EVENTS) or not event.audit_id:
        raise UnreadableRecordError("is no event of audit.k8s.io/v1", "apiVersion")
    decisions = {
        key[: -len("/decision")]: value[:_MOST_WORD]
        for key, value in event.annotations.items()
        if key.endswith(_DECISION)
    }
    topic = _topic(event, decisions)
    lasting = topic in {Topic.EXEC, Topic.SECRET_READ}
    if topic is None or event.stage not in (_LONG if lasting else _ENDED):
        return None
    unix_ms, time = parse_log_time(
        event.request_received_timestamp or event.stage_timestamp, "requestReceivedTimestamp"
    )
    where, code = event.object_ref, event.response_status.code
    name = where.name or event.response_object.metadata.name
    address = event.source_ips[0] if event.source_ips else ""
    part = f"/{where.subresource}" if where.subresource else ""
    activity = Activity(
        format=FORMAT,
        id=stable_id(unix_ms, "activity", "kubernetes", cluster, event.audit_id),
        time=time,
        cluster=cluster,
        log=Log.KUBERNETES,
        topic=topic,
        operation=f"{event.verb} {where.resource}{part}"[:_MOST_WORD],
        succeeded=code < _FAILED,
        resource="/".join(word for word in (where.namespace, name) if word)[: 2 * _MOST_WORD],
        principal=_subject(event.impersonated_user or event.user).label[:_MOST_WORD],
        address=callers.of(address)[0],
        facts=_facts(event, topic, decisions, name),
        source=source,
    )
    return scrub_document(activity)


class _Asked(_Part, frozen=True, kw_only=True):
    """What of an event says its kind."""

    verb: str = ""
    object_ref: _Reference = _Reference()


_ASKED: Final = msgspec.json.Decoder(_Asked)


def kubernetes_kind(raw: bytes | msgspec.Raw) -> str:
    """Say which kind of event one is that gave no activity."""
    asked = _ASKED.decode(bytes(raw))
    where = asked.object_ref
    part = f"/{where.subresource}" if where.subresource else ""
    return f"kubernetes-audit: {asked.verb} {where.resource or 'no resource'}{part}"


def _topic(event: _Event, decisions: dict[str, str]) -> Topic | None:
    where = event.object_ref
    entering = where.subresource in ENTERING
    if entering and where.resource in {"pods", "nodes"}:
        return Topic.EXEC
    if where.resource == "secrets" and event.verb in _READING and not _is_routine(event):
        return Topic.SECRET_READ
    if decisions:
        return Topic.DECISION_SEEN
    changed = where.resource in _RIGHTS and event.verb in _CHANGING
    return Topic.OTHER if changed and not _is_routine(event) else None


def _is_routine(event: _Event) -> bool:
    """Return whether a component of the cluster read what it may: kubelets do so for every Pod."""
    name = event.user.username
    own = name in _COMPONENTS or name.startswith("system:node:")
    return own and event.impersonated_user is None and event.response_status.code < _FAILED


def _subject(user: _User) -> Subject:
    """Return who it was; Azure's object id comes under the key `oid` (AKS)."""
    return Subject(username=user.username, groups=user.groups, extra=user.extra)


def _facts(event: _Event, topic: Topic, decisions: dict[str, str], name: str) -> dict[str, Any]:
    where = event.object_ref
    found: dict[str, Any] = {"code": event.response_status.code, "stage": event.stage}
    allowed = event.annotations.get("authorization.k8s.io/decision", "")
    if allowed:
        found["allowed"] = allowed == "allow"
    if event.impersonated_user is not None:
        found["impersonator"] = _subject(event.user).label[:_MOST_WORD]
    if decisions:
        found["decision"] = decisions.get(f"validate.{GROUP}") or min(decisions.values())
    uid = where.uid or event.response_object.metadata.uid
    if uid:
        found["uid"] = uid[:_MOST_WORD]
    if topic is Topic.EXEC:
        asked = _asked(event.request_uri)
        command = asked.get("command", [""])[0].split(" ", 1)[0]
        said = {"subresource": where.subresource, "container": asked.get("container", [""])[0]}
        return found | said | ({"command": scrub(command)[:_MOST_WORD]} if command else {})
    if topic is Topic.SECRET_READ:
        return found | {"verb": event.verb, "namespace": where.namespace[:_MOST_WORD]}
    told = {
        "kind": where.resource[:_MOST_WORD],
        "namespace": where.namespace[:_MOST_WORD],
        "name": name[:_MOST_WORD],
    }
    if topic is Topic.OTHER:
        return found | {"verb": event.verb} | told
    verdicts = (v for key, v in event.annotations.items() if key.endswith(_VERDICT))
    verdict = next(verdicts, "")[:_MOST_WORD]
    return found | {"decisions": scrub_fields(decisions), "verdict": verdict} | told


def _asked(uri: str) -> dict[str, list[str]]:
    """Return the query of a request; nothing where it is none."""
    query = uri[: 64 * _MOST_WORD].partition("?")[2]
    try:
        return parse_qs(query, max_num_fields=256)
    except ValueError:
        return {}
