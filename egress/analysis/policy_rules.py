"""NetworkPolicies as rules that can be held against Pods and addresses. Pure.

Fields mean what the comments of k8s.io/api networking/v1 types.go say.
"""

import ipaddress
from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_error
from core.base.networks import Span, merge_spans, span_of, subtract_spans
from core.egress.destinations import MAX_PORT, PortRange
from core.kubernetes.label_selectors import Requirements, requirements_of
from egress.model.network_policies import KIND, Block, Peer, PolicySpec, Port, PortName

EVERY_ADDRESS: Final = (Span(4, 0, 2**32 - 1), Span(6, 0, 2**128 - 1))


class SelectedPods(msgspec.Struct, frozen=True, gc=False):
    """Pods that a peer selects."""

    namespaces: Requirements | None
    """None: those of the policy's own namespace."""
    pods: Requirements


class PolicyRule(msgspec.Struct, frozen=True, gc=False):
    """A rule: its peers, and ports of who is connected to."""

    everyone: bool
    """Whether it names no peer: all Pods and addresses."""
    spans: tuple[Span, ...]
    """Addresses of its blocks, merged."""
    selected: tuple[SelectedPods, ...]
    ports: tuple[PortRange | PortName, ...]
    """None of them: every port of every protocol."""


class JudgedPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """A NetworkPolicy."""

    namespace: str
    name: str
    selects: Requirements
    egress: tuple[PolicyRule, ...] | None
    """None where it is not about egress."""
    ingress: tuple[PolicyRule, ...] | None


class _Policy(msgspec.Struct, frozen=True):
    spec: PolicySpec = PolicySpec()


def compile_policy(value: dict[str, Any], namespace: str, name: str) -> JudgedPolicy:
    """Return what a NetworkPolicy says; of networks with bits of hosts, the network counts.

    Raises:
        InvalidObjectError: kube-apiserver would refuse it; names the field.
    """
    try:
        spec = msgspec.convert(value, _Policy).spec
    except DECODE_ERRORS as error:
        raise decode_error(KIND, error) from error
    egress = [
        _rule(each.to, each.ports, f"spec.egress[{index}]", "to")
        for index, each in enumerate(spec.egress or ())
    ]
    ingress = [
        _rule(each.from_, each.ports, f"spec.ingress[{index}]", "from")
        for index, each in enumerate(spec.ingress or ())
    ]
    return JudgedPolicy(
        namespace=namespace,
        name=name,
        selects=requirements_of(spec.pod_selector, field="spec.podSelector", what=KIND),
        egress=tuple(egress) if "Egress" in spec.types else None,
        ingress=tuple(ingress) if "Ingress" in spec.types else None,
    )


def selectors_of(policy: JudgedPolicy) -> Iterator[Requirements]:
    """Yield the selectors of Pods."""
    yield policy.selects
    yield from (each.pods for rule in rules_of(policy) for each in rule.selected)


def space_selectors_of(policy: JudgedPolicy) -> Iterator[Requirements]:
    """Yield the selectors of namespaces."""
    for rule in rules_of(policy):
        yield from (each.namespaces for each in rule.selected if each.namespaces is not None)


def rules_of(policy: JudgedPolicy) -> tuple[PolicyRule, ...]:
    """Return the rules of both directions."""
    return (*(policy.egress or ()), *(policy.ingress or ()))


def _rule(
    peers: Sequence[Peer] | None, ports: Sequence[Port] | None, path: str, field: str
) -> PolicyRule:
    spans: list[Span] = []
    selected: list[SelectedPods] = []
    for index, peer in enumerate(peers or ()):
        place = f"{path}.{field}[{index}]"
        if peer.ip_block is None:
            selected.append(_selected(peer, place))
        elif peer.pod_selector is not None or peer.namespace_selector is not None:
            raise InvalidObjectError(KIND, place, "has ipBlock and a selector: write two entries")
        else:
            spans += _spans(peer.ip_block, f"{place}.ipBlock")
    return PolicyRule(
        not peers,
        tuple(merge_spans(spans)),
        tuple(selected),
        tuple(_ports(each, f"{path}.ports[{index}]") for index, each in enumerate(ports or ())),
    )


def _selected(peer: Peer, place: str) -> SelectedPods:
    if peer.pod_selector is None and peer.namespace_selector is None:
        raise InvalidObjectError(KIND, place, "must say whom it is about")
    within = peer.namespace_selector
    return SelectedPods(
        None
        if within is None
        else requirements_of(within, field=f"{place}.namespaceSelector", what=KIND),
        requirements_of(peer.pod_selector, field=f"{place}.podSelector", what=KIND),
    )


def _spans(block: Block, field: str) -> list[Span]:
    whole = _network(block.cidr, f"{field}.cidr")
    holes = [
        _network(each, f"{field}.except[{index}]") for index, each in enumerate(block.except_ or ())
    ]
    return subtract_spans(whole, holes)


def _network(text: str, field: str) -> Span:
    try:
        return span_of(ipaddress.ip_network(text, strict=False))
    except ValueError:
        message = f"{text!r} must be a network in CIDR notation, such as 10.0.0.0/8"
        raise InvalidObjectError(KIND, field, message) from None


def _ports(port: Port, field: str) -> PortRange | PortName:
    if port.port is None and port.end_port is not None:
        raise InvalidObjectError(KIND, f"{field}.endPort", "needs port: name the first one")
    found = port.meaning
    if isinstance(found, PortName):
        if port.end_port is not None:
            raise InvalidObjectError(KIND, f"{field}.endPort", "goes with a number: remove it")
    elif not 1 <= found.first <= found.last <= MAX_PORT:
        message = f"ports must be between 1 and {MAX_PORT}, endPort not before port"
        raise InvalidObjectError(KIND, f"{field}.port", message)
    return found
