"""NetworkPolicies as rules that can be held against Pods and addresses. Pure.

Fields mean what the comments of k8s.io/api networking/v1 types.go say.
"""

import ipaddress
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_error
from core.base.networks import Span, merge_spans, span_of, subtract_spans
from core.egress.destinations import MAX_PORT, PortRange
from core.kubernetes.label_selectors import (
    Expression,
    LabelSelector,
    Operator,
    Requirements,
    requirements_of,
)
from egress.model.network_policies import KIND, Block, Port, PortName


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


class _Expression(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    key: str
    operator: Operator
    values: list[str] | None = None


class _Selector(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """A label selector of any size: Kubernetes limits none, as LabelSelector does for the gate."""

    match_labels: dict[str, str] | None = None
    match_expressions: list[_Expression] | None = None


class _Peer(msgspec.Struct, frozen=True, rename="camel"):
    pod_selector: _Selector | None = None
    namespace_selector: _Selector | None = None
    ip_block: Block | None = None


class _Entry(msgspec.Struct, frozen=True, rename={"from_": "from"}):
    to: list[_Peer] | None = None
    from_: list[_Peer] | None = None
    ports: list[Port] | None = None


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    pod_selector: _Selector | None = None
    egress: list[_Entry] | None = None
    ingress: list[_Entry] | None = None
    policy_types: list[Literal["Ingress", "Egress"]] | None = None

    @property
    def types(self) -> tuple[str, ...]:
        """The directions that it is about: those it says; else ingress, and egress by rules."""
        if self.policy_types:
            return tuple(self.policy_types)
        return ("Ingress", "Egress") if self.egress else ("Ingress",)


class _Policy(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


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
        selects=_requirements(spec.pod_selector, "spec.podSelector"),
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
    peers: Sequence[_Peer] | None, ports: Sequence[Port] | None, path: str, field: str
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


def _selected(peer: _Peer, place: str) -> SelectedPods:
    if peer.pod_selector is None and peer.namespace_selector is None:
        raise InvalidObjectError(KIND, place, "must say whom it is about")
    within = peer.namespace_selector
    return SelectedPods(
        None if within is None else _requirements(within, f"{place}.namespaceSelector"),
        _requirements(peer.pod_selector, f"{place}.podSelector"),
    )


def _requirements(selector: _Selector | None, field: str) -> Requirements:
    if selector is None:
        return ()
    expressions = [
        Expression(each.key, each.operator, each.values)
        for each in selector.match_expressions or ()
    ]
    written = LabelSelector(selector.match_labels, expressions)
    return requirements_of(written, field=field, what=KIND)


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
