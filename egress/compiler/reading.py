"""Reads what NetworkPolicies (networking.k8s.io/v1) open on the way out, to compare it. Pure.

What each field means is said by its comments in k8s.io/api networking/v1 types.go.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from core.base import names
from core.base.errors import InvalidObjectError
from core.base.json_errors import DECODE_ERRORS, decode_error
from core.base.networks import Span, parse_network, span_of, subtract_spans
from core.egress.destinations import MAX_PORT, PortRange, Protocol
from core.kubernetes.label_selectors import LabelSelector, Requirements, requirements_of
from egress.model.openings import Pods

KIND: Final = "NetworkPolicy"

MOST_NETWORKS: Final = 2_000
MOST_PARTS: Final = 128
"""Rules, ports and peers by labels of a policy that somebody writes: to compare more takes long."""


class Rule(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A rule of `spec.egress`: from Pods, to any of its peers, on any of its ports."""

    path: str
    """`spec.egress[2]`."""
    selects: Requirements
    """Which Pods of the policy's namespace."""
    spans: tuple[Span, ...] = ()
    """Addresses, those of `except` left out."""
    pods: tuple[Pods, ...] = ()
    unnamed: tuple[Requirements, ...] = ()
    """Labels of namespaces that it reaches Pods of, and that no name of one is among."""
    everywhere: bool = False
    """Whether it has no peers: it is to all addresses, and all Pods."""
    ports: tuple[PortRange, ...] = ()
    """None of them: every port of every protocol."""


class _Block(msgspec.Struct, frozen=True, rename={"except_": "except"}):
    cidr: str
    except_: list[str] | None = None


class _Peer(msgspec.Struct, frozen=True, rename="camel"):
    pod_selector: LabelSelector | None = None
    namespace_selector: LabelSelector | None = None
    ip_block: _Block | None = None


class _Port(msgspec.Struct, frozen=True, rename="camel"):
    protocol: Protocol | None = None
    port: int | str | None = None
    end_port: int | None = None


class _Rule(msgspec.Struct, frozen=True):
    to: list[_Peer] | None = None
    ports: list[_Port] | None = None


class _Spec(msgspec.Struct, frozen=True, rename="camel"):
    pod_selector: LabelSelector | None = None
    egress: list[_Rule] | None = None


class _Policy(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


_DECODER: Final = msgspec.json.Decoder(_Policy)


def read_rules(
    raw: bytes | msgspec.Raw, namespace: str, *, trusted: bool = False
) -> tuple[Rule, ...]:
    """Give the egress rules of a policy of a namespace, whatever its `policyTypes` say.

    Of one that is `trusted` the size does not matter, since Sallyport wrote it. A port by its name
    may be any that a Pod declares: it counts as all there are, and as none in what is trusted.

    Raises:
        InvalidObjectError: the policy has not its kind's shape, says more than is compared, or a
            network otherwise than in its canonical form.
    """
    try:
        spec = _DECODER.decode(raw).spec
    except DECODE_ERRORS as error:
        raise decode_error(KIND, error) from error
    if not trusted:
        _check_size(spec)
    selects = requirements_of(spec.pod_selector, field="spec.podSelector", what=KIND)
    found = []
    for index, each in enumerate(spec.egress or ()):
        ports = tuple(_ports(each.ports or [], trusted=trusted))
        if ports or not each.ports:
            found.append(_rule(each, f"spec.egress[{index}]", selects, namespace, ports))
    return tuple(found)


def _check_size(spec: _Spec) -> None:
    rules = spec.egress or ()
    blocks = [peer.ip_block for rule in rules for peer in rule.to or () if peer.ip_block]
    networks = sum(1 + len(block.except_ or ()) for block in blocks)
    peers = sum(len(rule.to or ()) for rule in rules) - len(blocks)
    parts = len(rules) + peers + sum(len(rule.ports or ()) for rule in rules)
    if networks > MOST_NETWORKS or parts > MOST_PARTS:
        message = (
            f"more than {MOST_NETWORKS} networks, or {MOST_PARTS} rules, peers and ports in all, "
            "are not compared with what is open: write several policies"
        )
        raise InvalidObjectError(KIND, "spec.egress", message)


def _rule(
    rule: _Rule, path: str, selects: Requirements, namespace: str, ports: tuple[PortRange, ...]
) -> Rule:
    spans: list[Span] = []
    pods: list[Pods] = []
    unnamed: list[Requirements] = []
    for index, peer in enumerate(rule.to or ()):
        place = f"{path}.to[{index}]"
        if peer.ip_block is not None:
            spans += _spans(peer.ip_block, f"{place}.ipBlock")
            continue
        wanted = requirements_of(peer.pod_selector, field=f"{place}.podSelector", what=KIND)
        within = peer.namespace_selector
        if within is None:
            if peer.pod_selector is None:
                raise InvalidObjectError(KIND, place, "must say whom it is to")
            pods.append(Pods(namespace, wanted))
            continue
        chosen = requirements_of(within, field=f"{place}.namespaceSelector", what=KIND)
        named = _names(chosen)
        pods += [Pods(name, wanted) for name in named or ()]
        if named is None:
            unnamed.append(chosen)
    return Rule(
        path=path,
        selects=selects,
        spans=tuple(spans),
        pods=tuple(pods),
        unnamed=tuple(unnamed),
        everywhere=not rule.to,
        ports=ports,
    )


def _names(chosen: Requirements) -> tuple[str, ...] | None:
    """Give names of which a namespace must have one; None where none is demanded."""
    for each in chosen:
        if each.key == names.NAMESPACE_NAME_LABEL and each.operator == "In":
            return each.values
    return None


def _spans(block: _Block, field: str) -> list[Span]:
    holes = [
        parse_network(each, field=f"{field}.except[{index}]", what=KIND)
        for index, each in enumerate(block.except_ or ())
    ]
    whole = parse_network(block.cidr, field=f"{field}.cidr", what=KIND)
    return subtract_spans(span_of(whole), map(span_of, holes))


def _ports(ports: list[_Port], *, trusted: bool) -> Iterator[PortRange]:
    for each in ports:
        protocol = each.protocol or "TCP"
        if isinstance(each.port, int):
            yield PortRange(protocol, each.port, each.end_port or each.port)
        elif each.port is None or not trusted:
            yield PortRange(protocol, 1, MAX_PORT)
