"""Destinations of egress: the entries of `spec.to`, and their checks. Pure.

Each entry is checked by itself, and against the others. The CRDs say what each field means.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Annotated, Final, Literal

import msgspec

from core.base.errors import InvalidObjectError
from core.base.networks import (
    Network,
    Span,
    are_within,
    holds,
    merge_spans,
    network_of,
    parse_network,
    span_of,
    subtract_spans,
)
from core.base.sallyport_objects import require_match
from core.egress.dns_names import check_dns_name
from core.kubernetes.label_selectors import LabelSelector, requirements_of
from core.kubernetes.names import LABEL, SUBDOMAIN

MAX_ENTRIES: Final = 64
MAX_PORTS: Final = 32
MAX_PORT: Final = 65_535
MAX_NETWORKS: Final = 64

Protocol = Literal["TCP", "UDP", "SCTP"]

OPTIONAL: Final = frozenset(
    {
        "dnsName",
        "within",
        "cidr",
        "except",
        "serviceTag",
        "service",
        "pods",
        "destinations",
        "ports",
        "endPort",
        "namespace",
        "serviceAccounts",
        "podSelector",
        "matchLabels",
        "matchExpressions",
        "values",
    }
)
"""Fields in which null is absence."""

_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
_Networks = Annotated[list[str], msgspec.Meta(min_length=1, max_length=MAX_NETWORKS)]

_PROTOCOLS: Final[dict[Protocol, int]] = {"TCP": 0, "UDP": 1, "SCTP": 2}
_TAG: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(\.[A-Za-z0-9]+)*")


class PortRange(msgspec.Struct, frozen=True, order=True, gc=False):
    """Ports of a protocol, from the first to the last."""

    protocol: Protocol
    first: int
    last: int

    def holds(self, other: "PortRange") -> bool:
        """Return whether it has all ports of another."""
        return (
            self.protocol == other.protocol
            and self.first <= other.first
            and other.last <= self.last
        )

    def __str__(self) -> str:
        """Write it as people do: `TCP 443`, `UDP 1000-2000`."""
        ports = str(self.first) if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.protocol} {ports}"


class Port(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """An entry of `ports`, as it is written."""

    protocol: Protocol
    port: int
    end_port: int | None = None

    @property
    def range(self) -> PortRange:
        """The ports that it means."""
        return PortRange(self.protocol, self.port, self.end_port or self.port)


class ServiceName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A Service; without `namespace`, one of the allowlist's own."""

    name: _Text
    namespace: _Text | None = None


class PodsSelector(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Pods of one namespace; without `namespace`, of the allowlist's own."""

    namespace: _Text | None = None
    service_accounts: Annotated[list[_Text], msgspec.Meta(min_length=1, max_length=16)] | None = (
        None
    )
    pod_selector: LabelSelector | None = None


class SetName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An EgressDestinations."""

    name: _Text


class Destination(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """An entry of `spec.to`: one destination, and its ports."""

    dns_name: _Text | None = None
    within: _Networks | None = None
    """With `dns_name`: only answers in these networks count, and they do in reserved ones too."""
    cidr: _Text | None = None
    except_: _Networks | None = msgspec.field(default=None, name="except")
    service_tag: _Text | None = None
    service: ServiceName | None = None
    pods: PodsSelector | None = None
    destinations: SetName | None = None
    ports: Annotated[list[Port], msgspec.Meta(min_length=1, max_length=MAX_PORTS)] | None = None

    @property
    def kind(self) -> str:
        """The field that says what it is."""
        return next(name for name, value in kind_fields(self) if value is not None)

    @property
    def ranges(self) -> tuple[PortRange, ...]:
        """Its ports, sorted."""
        return tuple(sorted(port.range for port in self.ports or ()))


def kind_fields(entry: Destination) -> Iterator[tuple[str, object]]:
    """Yield each field that can say what an entry is, and what it says."""
    yield "dnsName", entry.dns_name
    yield "cidr", entry.cidr
    yield "serviceTag", entry.service_tag
    yield "service", entry.service
    yield "pods", entry.pods
    yield "destinations", entry.destinations


def check_destinations(
    entries: Sequence[Destination], path: str, what: str, *, shared: bool
) -> None:
    """Check entries, each by itself and against one another; `shared` are those of a set.

    Raises:
        InvalidObjectError: with the field's path and what it must be.
    """
    for index, entry in enumerate(entries):
        _check_entry(entry, f"{path}[{index}]", what, shared=shared)
    _check_overlaps(entries, path, what)


def _check_entry(entry: Destination, path: str, what: str, *, shared: bool) -> None:
    named = [name for name, value in kind_fields(entry) if value is not None]
    if len(named) != 1:
        wanted = ", ".join(name for name, _ in kind_fields(entry))
        found = f"has {' and '.join(named)}" if named else "names no destination"
        raise InvalidObjectError(what, path, f"{found}: it must have one of {wanted}")
    if entry.within is not None and entry.dns_name is None:
        raise InvalidObjectError(what, f"{path}.within", "goes with dnsName: remove it")
    if entry.except_ is not None and entry.cidr is None:
        raise InvalidObjectError(what, f"{path}.except", "goes with cidr: remove it")
    _check_ports(entry, path, what)
    if entry.dns_name is not None:
        check_dns_name(entry.dns_name, field=f"{path}.dnsName", what=what)
        _networks(entry.within or (), f"{path}.within", what)
    elif entry.cidr is not None:
        _check_cidr(entry.cidr, entry.except_ or (), path, what)
    elif entry.service_tag is not None:
        require_match(
            _TAG, entry.service_tag, f"{path}.serviceTag", what, "such as Storage.WestEurope"
        )
    elif entry.destinations is not None:
        if shared:
            message = "a set cannot refer to another: write the destinations themselves"
            raise InvalidObjectError(what, f"{path}.destinations", message)
        name = entry.destinations.name
        require_match(
            SUBDOMAIN, name, f"{path}.destinations.name", what, "the name of an EgressDestinations"
        )
    else:
        _check_inside(entry, path, what, shared=shared)


def _check_inside(entry: Destination, path: str, what: str, *, shared: bool) -> None:
    """Check a destination in the cluster."""
    named: ServiceName | PodsSelector | None = entry.service or entry.pods
    path = f"{path}.{entry.kind}"
    if named is not None and named.namespace is not None:
        require_match(LABEL, named.namespace, f"{path}.namespace", what, "the name of a namespace")
    elif shared:
        raise InvalidObjectError(what, f"{path}.namespace", "is missing: a set has no namespace")
    if entry.service is not None:
        require_match(LABEL, entry.service.name, f"{path}.name", what, "the name of a Service")
    if entry.pods is not None:
        for index, name in enumerate(entry.pods.service_accounts or ()):
            field = f"{path}.serviceAccounts[{index}]"
            require_match(SUBDOMAIN, name, field, what, "the name of a ServiceAccount")
        check_distinct(entry.pods.service_accounts or (), f"{path}.serviceAccounts", what)
        requirements_of(entry.pods.pod_selector, field=f"{path}.podSelector", what=what)


def check_distinct(names: Sequence[str], path: str, what: str) -> None:
    """Refuse a name that is there twice.

    Raises:
        InvalidObjectError: with the place of the second.
    """
    for index, name in enumerate(names):
        if name in names[:index]:
            raise InvalidObjectError(what, f"{path}[{index}]", f"{name!r} stands there twice")


def _check_ports(entry: Destination, path: str, what: str) -> None:
    if (entry.ports is None) != (entry.destinations is not None):
        wrong = "is missing: name the ports" if entry.ports is None else "are the set's: remove it"
        raise InvalidObjectError(what, f"{path}.ports", wrong)
    for index, port in enumerate(entry.ports or ()):
        field = f"{path}.ports[{index}]"
        if not 1 <= port.port <= MAX_PORT:
            message = f"{port.port} must be between 1 and {MAX_PORT}"
            raise InvalidObjectError(what, f"{field}.port", message)
        if port.end_port is not None and not port.port < port.end_port <= MAX_PORT:
            message = f"{port.end_port} must be after port {port.port}, and at most {MAX_PORT}"
            raise InvalidObjectError(what, f"{field}.endPort", message)
    for (_, one), (index, other) in combinations(enumerate(entry.ports or ()), 2):
        a, b = one.range, other.range
        if a.protocol == b.protocol and a.first <= b.last and b.first <= a.last:
            message = f"{b} overlaps {a}: name each port once"
            raise InvalidObjectError(what, f"{path}.ports[{index}]", message)


def _check_cidr(cidr: str, without: Sequence[str], path: str, what: str) -> None:
    network = parse_network(cidr, field=f"{path}.cidr", what=what)
    for index, hole in enumerate(_networks(without, f"{path}.except", what)):
        if hole == network or not holds(network, hole):
            message = f"{hole} must lie inside {network}, and leave something of it"
            raise InvalidObjectError(what, f"{path}.except[{index}]", message)


def _networks(texts: Sequence[str], path: str, what: str) -> list[Network]:
    """Read networks of which none lies in another."""
    found = [
        parse_network(text, field=f"{path}[{index}]", what=what) for index, text in enumerate(texts)
    ]
    placed = sorted((span_of(network), index) for index, network in enumerate(found))
    for (one, first), (other, second) in pairwise(placed):  # Networks meet as neighbours, or not.
        if one.version == other.version and other.first <= one.last:
            index = max(first, second)
            message = f"{found[index]} overlaps {found[min(first, second)]}: name each address once"
            raise InvalidObjectError(what, f"{path}[{index}]", message)
    return found


def _check_overlaps(entries: Sequence[Destination], path: str, what: str) -> None:
    """Refuse an entry to which another adds nothing: whoever removes one would close nothing."""
    known = [_Comparable.of(entry) for entry in entries]
    for first, second in combinations(range(len(known)), 2):
        for outer, inner in ((first, second), (second, first)):
            if known[outer].covers(known[inner]):
                message = f"adds nothing to {path}[{outer}]: remove one of them"
                raise InvalidObjectError(what, f"{path}[{inner}]", message)


@dataclass(frozen=True)
class _Comparable:
    """What of an entry is compared, worked out once: there are 2,016 pairs of 64 entries."""

    addresses: list[Span]
    """Merged, without those of `except`; empty where it names no network."""
    whole: bytes
    """All but the ports."""
    ports: list[Span]
    """Merged; each protocol's are a version of their own."""

    @classmethod
    def of(cls, entry: Destination) -> "_Comparable":
        whole = msgspec.json.encode(msgspec.structs.replace(entry, ports=None))
        addresses: list[Span] = []
        if entry.cidr is not None:
            holes = (span_of(network_of(each)) for each in entry.except_ or ())
            addresses = subtract_spans(span_of(network_of(entry.cidr)), holes)
        ports = merge_spans(
            Span(_PROTOCOLS[one.protocol], one.first, one.last) for one in entry.ranges
        )
        return cls(addresses, whole, ports)

    def covers(self, other: "_Comparable") -> bool:
        if self.addresses and other.addresses:
            reaches = are_within(other.addresses, self.addresses)
        else:
            reaches = self.whole == other.whole
        return reaches and are_within(other.ports, self.ports)
