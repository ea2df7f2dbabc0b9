"""Reads requests that enter a running Pod or make credentials: whose rights count, and for what.

Who enters a Pod gets what the Pod has. So one profile that they themselves may use must cover the
connection and the Pod, whatever profile the Pod was admitted under (docs/adr/0023).
"""

from dataclasses import dataclass
from typing import Final

import msgspec

from admission.model.facts import Facts
from admission.model.judged_object import LeftAlone, Part, Reading
from admission.objects.credential_requests import read_credential_request
from admission.objects.reader import ObjectReader
from core.base.errors import InvalidObjectError
from core.decision.decision import Need
from core.decision.other_objects import path_in_pod
from core.decision.request import Operation, Request
from policies.engine.interface import PolicyAnswer
from policies.projection.connections import CONNECTION_KINDS, project_connection
from policies.projection.pods import project

_INTO_PODS: Final = CONNECTION_KINDS - {"ServiceProxyOptions", "NodeProxyOptions"}

_OF_CONNECTIONS: Final = tuple(
    f"privileges/{family}/" for family in ("attach", "exec", "port_forward", "proxy")
)
"""Rules about the connection itself; every other need is the Pod's."""


@dataclass(frozen=True)
class ConnectRequestReader:
    """Reads CONNECT requests and requests for credentials."""

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
        return read_credential_request(request, request.object)

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
        known = self.reader.known_volumes(request, facts)
        inside = project(pod, known, placed=True, weighed=facts.weighs(pod))
        whole = msgspec.structs.replace(inside, object=own.object)
        return Reading(
            (Part(whole),),
            (request.subject,),
            request.namespace,
            uid=pod.metadata.uid or "",
            entered=own.object.name,
            pods=(pod,),
        )


def is_of_connection(rule: str) -> bool:
    """Return whether a rule is about the connection itself, and not about what it enters."""
    return rule.startswith(_OF_CONNECTIONS)


def is_of_pod(need: Need) -> bool:
    """Return whether a need of a connection is that of the Pod that it enters."""
    return not is_of_connection(need.rule)


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
