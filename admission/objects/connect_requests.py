"""Reads requests that enter a running Pod or make credentials: whose rights count, and for what.

Who enters a Pod gets what the Pod has. So one profile that they themselves may use must cover the
connection and the Pod, whatever profile the Pod was admitted under (docs/adr/0023).
"""

from dataclasses import dataclass
from functools import partial
from typing import Final

import msgspec

from admission.model.facts import Facts
from admission.model.judged_object import LeftAlone, Part, Reading
from admission.model.messages import path_in_pod
from admission.objects.reader import ObjectReader, credential_of
from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_error
from core.decision.decision import Need
from core.decision.request import Operation, Request
from core.kubernetes.workload_kinds import CONTROLLER_MANAGER, service_account_user
from core.people.subject import Subject
from identity.subjects import SubjectKind, kind_of
from policies.engine.interface import PolicyAnswer
from policies.projection.connections import CONNECTION_KINDS, project_connection
from policies.projection.credentials import project_credential
from policies.projection.pods import project

_INTO_PODS: Final = CONNECTION_KINDS - {"ServiceProxyOptions", "NodeProxyOptions"}

_OF_CONNECTIONS: Final = tuple(
    f"privileges/{family}/" for family in ("attach", "exec", "port_forward", "proxy")
)
"""Rules about the connection itself; every other need is the Pod's."""


_BOOTSTRAPPERS: Final = "system:bootstrappers"
_SCHEDULER: Final = "system:kube-scheduler"
_APPROVERS: Final = frozenset({service_account_user("certificate-controller"), CONTROLLER_MANAGER})
_OF_KUBELETS: Final = frozenset(
    {"kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"}
)


@dataclass(frozen=True)
class EntryReader:
    """Knows the ways in."""

    reader: ObjectReader

    async def read(self, request: Request, facts: Facts) -> Reading | LeftAlone:
        """Read the request, with one GET where it enters a Pod; or say why it is left alone.

        Raises:
            InvalidObjectError: the options or the Pod do not have their kind's shape.
            CannotJudgeError: the cluster did not give the Pod.
        """
        if request.object is None:
            raise InvalidObjectError(request.kind.kind, "object", "the review holds none")
        if request.operation is Operation.CONNECT:
            return await self._connection(request, request.object, facts)
        return _read_credential(request, request.object)

    async def _connection(
        self, request: Request, raw: msgspec.Raw, facts: Facts
    ) -> Reading | LeftAlone:
        kind = request.kind.kind
        own = project_connection(kind, request.name, raw)
        if kind not in _INTO_PODS or own.object is None:
            return Reading((Part(own),), (request.subject,), request.namespace)
        pod = await self.reader.cluster.pod(request.namespace, own.object.name)
        if pod is None:
            return LeftAlone("there is no such Pod: kube-apiserver says so itself")
        claimed = partial(self.reader.claimed, request.namespace)
        inside = project(pod, claimed, placed=True, weighed=facts.weighs(pod))
        whole = msgspec.structs.replace(inside, object=own.object)
        return Reading(
            (Part(whole),),
            (request.subject,),
            request.namespace,
            uid=pod.metadata.uid or "",
            entered=own.object.name,
            pods=(pod,),
        )


def _read_credential(request: Request, raw: msgspec.Raw) -> Reading | LeftAlone:
    kind = credential_of(request) or ""
    read = project_credential(kind, request.name, raw)
    signer = read.object.signer if read.object else ""
    if why := _left_alone(kind, request.subject, signer):
        return LeftAlone(why)
    if kind == "CertificateApproval" and not _approves(request):
        return LeftAlone("it approves nothing that was not approved before")
    return Reading((Part(read),), (request.subject,), request.namespace)


def _left_alone(kind: str, subject: Subject, signer: str) -> str:
    """Say why Kubernetes' own components are left alone; empty for everyone else.

    What they may do is held by kube-apiserver itself: the Node authorizer lets a kubelet ask for
    tokens of its own Pods alone (kubernetes/plugin/pkg/admission/noderestriction).
    """
    is_node = kind_of(subject) is SubjectKind.NODE
    joins = is_node or _BOOTSTRAPPERS in subject.groups
    if kind == "TokenRequest" and is_node:
        return "a kubelet asks for a token of its Pod"
    if kind == "Binding" and subject.username == _SCHEDULER:
        return "the cluster's scheduler binds Pods"
    if kind == "CertificateSigningRequest" and joins and signer in _OF_KUBELETS:
        return "a node asks for its own certificate"
    if kind == "CertificateApproval" and subject.username in _APPROVERS:
        return "Kubernetes approves what nodes ask for themselves"
    return ""


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""


class _Status(msgspec.Struct, frozen=True):
    conditions: list[_Condition] | None = None


class _Request(msgspec.Struct, frozen=True):
    status: _Status = _Status()


def _approves(request: Request) -> bool:
    """Return whether the update approves what was not approved.

    Raises:
        InvalidObjectError: the request's status does not have its kind's shape.
    """
    try:
        was, now = map(_is_approved, (request.old_object, request.object))
    except DECODE_ERRORS as error:
        raise decode_error(request.kind.kind, error) from error
    return now and not was


def _is_approved(raw: msgspec.Raw | None) -> bool:
    conditions = msgspec.json.decode(raw, type=_Request).status.conditions if raw else None
    return any(each.type == "Approved" for each in conditions or ())


def is_of_pod(need: Need) -> bool:
    """Return whether a need of a connection is that of the Pod that it enters."""
    return not need.rule.startswith(_OF_CONNECTIONS)


def place_in_pod(answer: PolicyAnswer, pod: str) -> PolicyAnswer:
    """Say of what the Pod needs that it is the Pod's, and put it after the connection's own."""
    put = msgspec.structs.replace
    needs = sorted(answer.needs, key=is_of_pod)
    return PolicyAnswer(
        tuple(
            put(need, path=path_in_pod(need.path, pod)) if is_of_pod(need) else need
            for need in needs
        ),
        tuple(put(denial, path=path_in_pod(denial.path, pod)) for denial in answer.denials),
    )
