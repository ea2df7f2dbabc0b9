"""The resources that a Pod asks of its node, as kube-scheduler counts them. Pure.

Source: k8s.io/component-helpers resource/helpers.go (PodRequests, AggregateContainerRequests), and
k8s.io/kubernetes pkg/apis/core/v1/defaults.go for what a limit without a request means: templates
are stored without these defaults, so they are worked out here.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_error
from core.kubernetes.quantities import CPU, MEMORY, PODS, Amounts, parse_amounts
from core.sandbox.capacity import Toleration

_Quantities = dict[str, str | int | float]


class _Struct(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Frozen, camelCase on the wire."""


class _Resources(_Struct, frozen=True):
    requests: _Quantities | None = None
    limits: _Quantities | None = None


class _Container(_Struct, frozen=True):
    resources: _Resources | None = None
    restart_policy: str | None = None


class _Spec(_Struct, frozen=True):
    containers: list[_Container] | None = None
    init_containers: list[_Container] | None = None
    resources: _Resources | None = None
    overhead: _Quantities | None = None
    tolerations: list[Toleration] | None = None
    node_name: str | None = None


class _Pod(_Struct, frozen=True):
    spec: _Spec = _Spec()


class PodResources(msgspec.Struct, frozen=True, gc=False):
    """What a Pod asks of its node."""

    demand: dict[str, int]
    """`pods` is one of its resources: a node takes so many."""
    tolerations: tuple[Toleration, ...] = ()
    placed: bool = False
    """Whether it names its node: then nobody looks for one."""


_DECODER: Final = msgspec.json.Decoder(_Pod)
_WHAT: Final = "Pod"


def parse_pod_resources(
    pod: bytes | msgspec.Raw | Mapping[str, Any], overhead: Amounts | None = None
) -> PodResources:
    """Read what a Pod, or a template of one, asks for.

    `overhead` is its RuntimeClass's, for one that has not been given it yet.

    Raises:
        InvalidObjectError: it has not a Pod's shape, or a quantity is none.
    """
    try:
        read = msgspec.convert(pod, _Pod) if isinstance(pod, Mapping) else _DECODER.decode(pod)
    except DECODE_ERRORS as error:
        raise decode_error(_WHAT, error) from error
    spec = read.spec
    try:
        return PodResources(
            _demand(spec, overhead), tuple(spec.tolerations or ()), bool(spec.node_name)
        )
    except ValueError as error:
        raise InvalidObjectError(_WHAT, "spec", str(error)) from error


def _demand(spec: _Spec, overhead: Amounts | None) -> dict[str, int]:
    demand = _of_containers(spec)
    demand |= _of_pod(spec.resources, demand)
    _add(demand, parse_amounts(spec.overhead) or overhead or {})
    _add(demand, {PODS: 1})
    return {resource: value for resource, value in demand.items() if value}


def _of_containers(spec: _Spec) -> dict[str, int]:
    """Add containers and sidecars up; the largest of the initial phases may be more."""
    demand: dict[str, int] = {}
    for container in spec.containers or ():
        _add(demand, _requests(container))
    sidecars: dict[str, int] = {}
    initial: dict[str, int] = {}
    for container in spec.init_containers or ():
        own = _requests(container)
        if container.restart_policy == "Always":
            _add(demand, own)
            _add(sidecars, own)
            phase = sidecars
        else:
            phase = dict(sidecars)
            _add(phase, own)
        _raise(initial, phase)
    _raise(demand, initial)
    return demand


def _requests(container: _Container) -> dict[str, int]:
    found = container.resources or _Resources()
    return parse_amounts(found.limits) | parse_amounts(found.requests)


def _of_pod(resources: _Resources | None, containers: Amounts) -> dict[str, int]:
    """Return the requests of the Pod itself, which count in place of its containers' sum.

    A limit of the Pod stands in for a request that neither it nor its containers make.
    """
    if resources is None:
        return {}
    limits = parse_amounts(resources.limits).items()
    standing_in = {r: value for r, value in limits if _is_huge(r) or r not in containers}
    requests = standing_in | parse_amounts(resources.requests)
    return {r: value for r, value in requests.items() if r in {CPU, MEMORY} or _is_huge(r)}


def _is_huge(resource: str) -> bool:
    return resource.startswith("hugepages-")


def _add(total: dict[str, int], more: Amounts) -> None:
    for resource, value in more.items():
        total[resource] = total.get(resource, 0) + value


def _raise(total: dict[str, int], least: Amounts) -> None:
    for resource, value in least.items():
        total[resource] = max(total.get(resource, 0), value)


def sum_amounts(each: Iterable[Amounts]) -> dict[str, int]:
    """Add up what several Pods ask for."""
    found: dict[str, int] = {}
    for demand in each:
        _add(found, demand)
    return found
