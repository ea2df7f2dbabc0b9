"""What recorded decisions say that somebody did. Pure.

That is what a gate says: whoever reaches its port can make it up. Nothing is learnt of it until it
is confirmed (`audit.behaviour.confirmation`).
"""

import enum
from typing import Final

import msgspec

from audit.access.attribution.creation_times import label_of
from core.base.ids import uuid7_unix_ms
from core.decision.decision import Verdict
from core.decision.document import is_final
from core.risk.model import identity_key

_PEOPLE: Final = frozenset({"entra-human", "human"})
_MACHINES: Final = frozenset({"service-account", "pipeline"})
"""Values of `identity.subjects.SubjectKind`.

Nodes, configured controllers and the cluster's own components are nobody who could be somebody
else; the anonymous are nobody at all.
"""


class ActKind(enum.Enum):
    """What an act is, as bursts tell it apart."""

    CREATE = enum.auto()
    ENTER = enum.auto()
    """Exec, attach, port-forward, proxies, ephemeral containers."""
    OTHER = enum.auto()


class Act(msgspec.Struct, frozen=True, gc=False):
    """One thing that a person, a pipeline or an application asked for itself."""

    cluster: str
    number: int
    """Of the decision: the last 8 bytes of its id, which are random."""
    at: float
    """Unix seconds: of the decision's id, so of the gate's clock."""
    who: bytes
    """`core.risk.model.identity_key`."""
    is_machine: bool
    namespace: str
    """Empty for objects of the cluster."""
    profile: str
    doing: ActKind
    refused: str = ""
    """What was refused, and why: the same for the same; empty where it was let in."""


class DecidedAct(msgspec.Struct, frozen=True, gc=False):
    """What a decision says that somebody did, and what it can be confirmed by."""

    id: str
    """Of the decision."""
    act: Act
    requester: str
    """The label by which gates know them."""
    operation: str
    kind: str
    name: str
    """Of the object; with a star at its end where kube-apiserver had not given it one yet."""
    subresource: str
    object_uid: str
    digest: str
    """Of the object's `spec` (`core.decision.document.Asked.digest`); empty where none is kept."""


class _Request(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    operation: str
    kind: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    object_uid: str = ""
    digest: str = ""
    dry_run: bool = False


class _Rule(msgspec.Struct, frozen=True, gc=False):
    rule: str


class _Document(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """What is read of a `core.decision.document.DecisionDocument`."""

    id: str
    cluster: str
    source: str
    request: _Request
    requester: str
    verdict: Verdict
    allowed: bool
    requester_kind: str = ""
    traced: str = ""
    profile: str | None = None
    findings: list[_Rule] = []


_DECODER: Final = msgspec.json.Decoder(_Document)


def decided_act_of(content: bytes) -> DecidedAct | None:
    """Return what a decision document (JSON) says was done; None where it is nobody's act.

    None are: the judgement of a change on its way (the final state is judged again); sweeps; dry
    runs; what controllers make, so that a gang's Pods are the one act of whoever submitted it;
    errors, which say nothing of who asked; what is no such document, or of a release too new.
    """
    try:
        return _decided_act_of(_DECODER.decode(content))
    except (ValueError, RecursionError):
        return None


def _decided_act_of(document: _Document) -> DecidedAct | None:
    kind, asked = document.requester_kind, document.request
    is_machine = kind in _MACHINES
    if not is_machine and kind not in _PEOPLE:
        return None
    if not is_final(document.source, allowed=document.allowed) or asked.dry_run or document.traced:
        return None
    if document.verdict is Verdict.ERROR:
        return None
    requester = label_of(document.requester)
    act = Act(
        cluster=document.cluster,
        number=int(document.id[-17:].replace("-", ""), 16),
        at=uuid7_unix_ms(document.id) / 1000,
        who=identity_key(requester),
        is_machine=is_machine,
        namespace=asked.namespace,
        profile=document.profile or "",
        doing=_doing(asked),
        refused="" if document.allowed else _refusal(document),
    )
    return DecidedAct(
        document.id,
        act,
        requester,
        asked.operation,
        asked.kind,
        asked.name,
        asked.subresource,
        asked.object_uid,
        asked.digest,
    )


def _doing(asked: _Request) -> ActKind:
    if asked.operation == "CONNECT" or asked.subresource == "ephemeralcontainers":
        return ActKind.ENTER
    return (
        ActKind.CREATE if asked.operation == "CREATE" and not asked.subresource else ActKind.OTHER
    )


def _refusal(document: _Document) -> str:
    asked = document.request
    rule = document.findings[0].rule if document.findings else ""
    return f"{asked.namespace}/{asked.kind}/{asked.subresource}/{rule}"
