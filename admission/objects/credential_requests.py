"""Reads requests that make credentials: tokens, certificates, bindings of Pods to nodes."""

from typing import Final

import msgspec

from admission.model.judged_object import LeftAlone, Part, Reading
from admission.objects.reader import credential_of
from core.base.json_errors import DECODE_ERRORS, decode_error, decode_json_as
from core.decision.request import Request
from core.kubernetes.workload_kinds import CONTROLLER_MANAGER, service_account_user
from core.people.subject import Subject
from identity.subjects import NODE_PREFIX, SubjectKind, kind_of
from policies.projection.credentials import is_token_secret, project_credential
from policies.projection.model import Projection

_BOOTSTRAPPERS: Final = "system:bootstrappers"

_SCHEDULER: Final = "system:kube-scheduler"

_APPROVERS: Final = frozenset({service_account_user("certificate-controller"), CONTROLLER_MANAGER})

_OF_KUBELETS: Final = frozenset(
    {"kubernetes.io/kube-apiserver-client-kubelet", "kubernetes.io/kubelet-serving"}
)


class _Condition(msgspec.Struct, frozen=True):
    type: str = ""


class _Status(msgspec.Struct, frozen=True):
    conditions: list[_Condition] | None = None


class _Request(msgspec.Struct, frozen=True):
    status: _Status = _Status()


class _PlacedSpec(msgspec.Struct, frozen=True, rename="camel"):
    node_name: str = ""


class _Placed(msgspec.Struct, frozen=True):
    """A PodCertificateRequest, as far as it says which node asks for it."""

    spec: _PlacedSpec = _PlacedSpec()


def read_credential_request(request: Request, raw: msgspec.Raw) -> Reading | LeftAlone:
    """Return what is judged of a request for a credential; or say why it is left alone.

    Raises:
        InvalidObjectError: the object does not have its kind's shape.
    """
    kind = credential_of(request) or ""
    read = project_credential(kind, request.name, raw)
    signer = read.object.signer if read.object else ""
    if why := _left_alone(kind, request.subject, signer):
        return LeftAlone(why)
    if kind == "Secret" and (why := _same_token(request, raw, read)):
        return LeftAlone(why)
    if kind == "PodCertificateRequest" and _is_of_pods_node(request, raw):
        return LeftAlone("the node that runs the Pod asks for its certificate")
    if kind == "CertificateApproval" and not _approves(request):
        return LeftAlone("it approves nothing that was not approved before")
    return Reading((Part(read),), (request.subject,), request.namespace)


def _same_token(request: Request, raw: msgspec.Raw, read: Projection) -> str:
    """Say why a Secret is left alone: it is for no token, or for the one that it had before."""
    if not is_token_secret(raw):
        return "it is for no service account's token"
    old = request.old_object
    if old is None or not is_token_secret(old):
        return ""
    same = project_credential("Secret", request.name, old) == read
    return "it stays the token of the same service account" if same else ""


def _is_of_pods_node(request: Request, raw: msgspec.Raw) -> bool:
    """Return whether a PodCertificateRequest comes from the node that it names.

    Of a node alone kube-apiserver checks that the Pod runs there as that service account and mounts
    a certificate of that signer (kubernetes/plugin/pkg/admission/noderestriction).
    """
    if kind_of(request.subject) is not SubjectKind.NODE:
        return False
    node = decode_json_as(_Placed, raw, request.kind.kind).spec.node_name
    return bool(node) and request.subject.username == f"{NODE_PREFIX}{node}"


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
