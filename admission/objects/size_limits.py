"""How much an object may hold to be judged: far above any real one, since each value takes time.

What reads an object holds up every other review meanwhile. `webhooks.review_decoder` counts the
values of what is large.
"""

import asyncio
from typing import Final

import msgspec

from core.base import names
from core.base.json_errors import DECODE_ERRORS
from core.base.json_values import count_values
from core.decision.request import Kind, Request
from core.kubernetes.workload_kinds import WORKLOADS, may_carry

LARGE_VALUES: Final = 4000
"""Up to so many, an object is read at once; with more its turn comes (`Gatherer.seats`). They take
half a millisecond."""

LARGE_BYTES: Final = 8 * 1024
"""So too with what policies are asked about: up to 20 containers."""

MAX_POD_VALUES: Final = 40_000
"""Of both objects of a Pod's review: read with their types in 7 ms. A Pod of 45 containers with 30
variables each has as many, with what kubectl and managers of its fields note of it."""

MAX_VALUES: Final = 70_000
"""Of both objects of any other review: read in 7 ms. An update of a JobSet of 20 jobs, whose
containers have 30 variables each, has 66,000."""

MAX_VALUES_OF_ONE: Final = 40_000
"""Of one object: what reads it does so at once, in 4 ms. The JobSet of 20 jobs has 33,000."""

MAX_VALUES_OF_OURS: Final = 20_000
"""Of both objects of a review of Sallyport's own kinds: each is read twice, and its digest made."""

MAX_TEMPLATE_CONTAINERS: Final = 1000
"""In all Pod templates of an object: an Argo Workflow may have hundreds of templates."""

MAX_SKIPPED_VALUES: Final = 250_000
"""More are not even skipped over: what a review says of its objects is all that is read. An Argo
Workflow of 1 MB has 50,000, and its update twice as many."""


_FEW_VALUES: Final = (
    "Binding",
    "CSIDriver",
    "DeviceClass",
    "Namespace",
    "PersistentVolume",
    "PriorityClass",
    "ResourceClaim",
    "ResourceClaimTemplate",
    "RuntimeClass",
    "ServiceAccount",
    "StorageClass",
)

_MAX_VALUES_OF: Final = {
    "Pod": MAX_POD_VALUES,
    **dict.fromkeys(_FEW_VALUES, 10_000),
    **dict.fromkeys(("Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding"), 20_000),
}
"""Of kinds whose values take longer to look at, or of which real objects have few: the largest
published roles have 300 rules."""


_OF_KUBERNETES: Final = ".k8s.io"
"""The end of the names of groups that Kubernetes keeps for itself."""

_WORKLOADS: Final = frozenset(each.group_kind for each in WORKLOADS.values())

_TOP_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


def most_values(kind: Kind) -> int:
    """Return how many values both objects of a review may hold to be read."""
    if kind.group == names.GROUP:
        return MAX_VALUES_OF_OURS
    return _MAX_VALUES_OF.get(kind.kind, MAX_VALUES)


def is_too_large(request: Request) -> bool:
    """Return whether a review's objects, or one of them, hold too much to be read."""
    return bool(problem_of_size(request))


def problem_of_size(request: Request) -> str:
    """Say what a review's objects, or one of them, hold too much of; empty where they do not."""
    most, count = most_values(request.kind), request.value_count
    if count <= most:
        most, count = MAX_VALUES_OF_ONE, _largest(request)
    return (
        "" if count <= most else f"holds about {count:,} values; more than {most:,} are not judged"
    )


def _largest(request: Request) -> int:
    """Return how many values the larger of both objects holds, where both hold many."""
    if request.value_count <= MAX_VALUES_OF_ONE:
        return request.value_count
    both = (request.object, request.old_object)
    return max((count_values(bytes(each)) for each in both if each is not None), default=0)


async def drop_status(request: Request) -> Request:
    """Return a large workload's request whose objects have no `status`, and not who wrote what.

    Operators and kube-apiserver note much there, of which nothing is judged: an Argo Workflow that
    runs away must still be stopped. Of all other kinds nothing is taken: the `status` of a
    CertificateSigningRequest is its approval.
    """
    kind = request.kind.group, request.kind.kind
    if request.subresource or not (kind in _WORKLOADS or _may_be_workload(*kind)):
        return request
    submitted = _without_status(request.object)
    await asyncio.sleep(0)  # Either may be large: others go on between.
    old = _without_status(request.old_object)
    await asyncio.sleep(0)
    if submitted is request.object and old is request.old_object:
        return request
    objects = [each for each in (submitted, old) if each is not None]
    return msgspec.structs.replace(
        request,
        submitted=submitted,
        old_object=old,
        value_count=sum(count_values(bytes(each)) for each in objects),
    )


def _may_be_workload(group: str, kind: str) -> bool:
    """Return whether a kind is one of an operator's that nobody listed: no group of Kubernetes."""
    return may_carry(group, kind) and not group.endswith(_OF_KUBERNETES)


def _without_status(raw: msgspec.Raw | None) -> msgspec.Raw | None:
    if raw is None:
        return None
    try:
        fields = _TOP_FIELDS.decode(raw)
        metadata = _TOP_FIELDS.decode(fields["metadata"]) if "metadata" in fields else {}
    except DECODE_ERRORS:
        return raw  # Who reads it says what is wrong.
    if "status" not in fields and "managedFields" not in metadata:
        return raw
    fields.pop("status", None)
    if metadata.pop("managedFields", None) is not None:
        fields["metadata"] = msgspec.Raw(msgspec.json.encode(metadata))
    return msgspec.Raw(msgspec.json.encode(fields))


async def give_way(request: Request) -> None:
    """Let other reviews go on before the next step of a large one."""
    if request.value_count or bytes_of_objects(request) > LARGE_BYTES:
        await asyncio.sleep(0)


def bytes_of_objects(request: Request) -> int:
    """Return the bytes of both objects."""
    return sum(len(each) for each in (request.object, request.old_object) if each)
