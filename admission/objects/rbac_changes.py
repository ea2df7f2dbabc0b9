"""Reads changes to rights: roles, bindings, identities of service accounts.

They need privileges as Pods do (docs/adr/0024). A binding gives what its role holds, so the role is
read from the cluster: one GET. Authors may give to others what they themselves may `use`, `approve`
or `exempt`.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

import msgspec

from admission.model.judged_object import LeftAlone, Part, Reading
from admission.objects.size_limits import give_way
from core.base import names
from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS
from core.cluster import Cluster
from core.decision.request import Operation, Request
from core.kubernetes.roles import RoleRule
from core.kubernetes.workload_kinds import CONTROLLER_MANAGER, service_account_user
from policies.engine.interface import PolicyAnswer
from policies.projection.model import Projection
from policies.projection.objects import project_object
from policies.projection.rbac import BINDINGS, role_of, with_role

_AGGREGATORS: Final = frozenset(
    {service_account_user("clusterrole-aggregation-controller"), CONTROLLER_MANAGER}
)
"""Who fills ClusterRoles that have an aggregationRule
(k8s.io/kubernetes pkg/controller/clusterroleaggregation)."""

FILLED: Final = "Kubernetes fills the role with rules that were judged for their authors"

_CLUSTER_ADMIN: Final = ("ClusterRole", "cluster-admin")
_EVERYTHING: Final = (
    RoleRule(["*"], ["*"], ["*"]),
    RoleRule(["*"], non_resource_urls=["*"]),
)
"""What it holds again, whatever was taken from it, as soon as a kube-apiserver starts
(k8s.io/kubernetes pkg/registry/rbac/rest/storage_rbac.go, ensureRBACPolicy)."""


_MOST_ASKED: Final = 64
"""Access reviews for one object; whoever gives more needs the privileges."""

_OWN: Final[Mapping[str, tuple[str, str]]] = {
    "rights/use/": (names.USE_VERB, names.PROFILES_RESOURCE),
    "rights/approve/": (names.APPROVE_VERB, names.TIERS_RESOURCE),
    "rights/exempt/": (names.EXEMPT_VERB, names.NAMESPACES_RESOURCE),
}
"""Privileges that a holder of the right itself does not need: its verb and its resource."""

_EVERY: Final = frozenset({"%2A", "%00"})
"""All names; and none, by which a rule with an empty resourceName is asked."""


class _Labelled(msgspec.Struct):
    labels: msgspec.Raw = msgspec.Raw()


class _Unfilled(msgspec.Struct, rename="camel"):
    metadata: _Labelled = msgspec.field(default_factory=_Labelled)
    aggregation_rule: msgspec.Raw = msgspec.Raw()


_UNFILLED: Final = msgspec.json.Decoder(_Unfilled)


@dataclass(frozen=True)
class RightsReader:
    """Reads changes of roles and bindings, and takes away what their writer holds already."""

    cluster: Cluster

    async def read(self, request: Request) -> Reading | LeftAlone:
        """Read the request, with one GET for a binding's role; or say why it is left alone.

        Raises:
            InvalidObjectError: the object does not have its kind's shape.
            CannotJudgeError: the cluster did not give the role.
        """
        if request.object is None:
            raise InvalidObjectError(request.kind.kind, "object", "the review holds none")
        given = _project(request, request.object)
        await give_way(request)
        if request.operation is Operation.UPDATE and request.old_object is not None:
            before = _project(request, request.old_object)
            if given == before:
                return LeftAlone("the update changes no right")
            if request.subject.username in _AGGREGATORS and _filled(before, given):
                return LeftAlone(FILLED)
        if request.kind.kind in BINDINGS:
            given = await self._with_role(request, request.object, given)
        return Reading((Part(given),), (request.subject,), request.namespace, gives=True)

    async def _with_role(self, request: Request, raw: msgspec.Raw, given: Projection) -> Projection:
        role = role_of(request.kind.kind, raw)
        if role.kind not in {"Role", "ClusterRole"}:
            return given
        place = request.namespace if role.kind == "Role" else ""
        rules = await self.cluster.role(role.kind, place, role.name)
        if (role.kind, role.name) == _CLUSTER_ADMIN:
            rules = (*_EVERYTHING, *(each for each in rules or () if each not in _EVERYTHING))
        return with_role(given, rules)

    async def without_own_rights(self, request: Request, answer: PolicyAnswer) -> PolicyAnswer:
        """Leave out of the needs what the author may give because it has it itself.

        Raises:
            AccessReviewError: the cluster did not say.
        """
        wanted = sorted({need.privilege for need in answer.needs if _own(need.privilege)})
        if not wanted or len(wanted) > _MOST_ASKED or request.asked_profile is not None:
            return answer
        answers = await asyncio.gather(*(self._holds(request, each) for each in wanted))
        held = {each for each, has in zip(wanted, answers, strict=True) if has}
        left = tuple(need for need in answer.needs if need.privilege not in held)
        return PolicyAnswer(left, answer.denials)

    async def _holds(self, request: Request, privilege: str) -> bool:
        """Ask for the right where it is given; that to exempt and to approve is the cluster's."""
        verb, resource = _OWN[_own(privilege)]
        place = request.namespace if verb == names.USE_VERB else ""
        name = _name(privilege)
        return await self.cluster.allowed(request.subject, verb, resource, name, place)


def _own(privilege: str) -> str:
    """Return the prefix in _OWN; empty for other privileges."""
    return next((prefix for prefix in _OWN if privilege.startswith(prefix)), "")


def _name(privilege: str) -> str:
    """Return what an access review is asked about; empty for every name."""
    segment = privilege.rpartition("/")[2]
    return "" if segment in _EVERY else unquote(segment)


def _project(request: Request, raw: msgspec.Raw) -> Projection:
    return project_object(request.kind.group, request.kind.kind, raw)


def is_filled_as_before(request: Request) -> bool:
    """Return whether Kubernetes changes nothing of a ClusterRole but its rules, to the byte.

    One that collects the rules of many definitions is larger than is judged now.
    """
    is_update = request.operation is Operation.UPDATE and not request.subresource
    if not is_update or request.subject.username not in _AGGREGATORS:
        return False
    if request.kind.kind != "ClusterRole" or request.old_object is None or request.object is None:
        return False
    try:
        new, old = map(_UNFILLED.decode, (request.object, request.old_object))
    except DECODE_ERRORS:
        return False
    collects = bytes(old.aggregation_rule) not in {b"", b"null"}
    return collects and all(
        bytes(left) == bytes(right)
        for left, right in (
            (new.aggregation_rule, old.aggregation_rule),
            (new.metadata.labels, old.metadata.labels),
        )
    )


def _filled(before: Projection, after: Projection) -> bool:
    """Return whether only the rules of a role with an aggregationRule differ."""
    if not (before.object and before.object.rights and after.object and after.object.rights):
        return False
    old, new = before.object.rights, after.object.rights
    return bool(new.collected) and msgspec.structs.replace(old, rules=new.rules) == new
