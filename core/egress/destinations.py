"""Destinations of egress: the entries of `spec.to`, and their checks. Pure.

Each entry is checked by itself, and against the others. The CRDs say what each field means.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
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

TransportProtocol = Literal["TCP", "UDP", "SCTP"]
"""Those that have ports, and that Kubernetes' own objects name."""

Protocol = Literal["TCP", "UDP", "SCTP", "ICMP", "ICMPv6"]

ICMP: Final[tuple[Protocol, ...]] = ("ICMP", "ICMPv6")
"""Protocols that have types in place of ports (RFC 792, RFC 4443)."""

MAX_ICMP_TYPE: Final = 255

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
        "port",
        "name",
        "type",
        "allPorts",
        "endPort",
        "namespace",
        "namespaceSelector",
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

_PORT_NAME: Final = re.compile(r"(?=.{1,63}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?")
"""Of a Service's port, which may be longer than a Pod's (IsDNS1123Label)."""
_TAG: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*(\.[A-Za-z0-9]+)*")


class PortRange(msgspec.Struct, frozen=True, order=True, gc=False):
    """Ports of a protocol, from the first to the last; of ICMP, types."""

    protocol: Protocol
    first: int
    last: int
    name: str = ""
    """Of a port that Pods declare by it, each under a number of its own; the numbers are 0 then."""

    def holds(self, other: "PortRange") -> bool:
        """Return whether it has all ports of another."""
        return (
            self.protocol == other.protocol
            and self.name == other.name
            and self.first <= other.first
            and other.last <= self.last
        )

    @property
    def is_whole(self) -> bool:
        """Whether it has every port of its protocol."""
        return (self.first, self.last) == (1, MAX_PORT)

    def __str__(self) -> str:
        """Write it as people do: `TCP 443`, `UDP 1000-2000`, `TCP http`, `ICMP type 8`."""
        ports = str(self.first) if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.protocol} {'type ' * (self.protocol in ICMP)}{self.name or ports}"


EVERY_PORT: Final = (PortRange("TCP", 1, MAX_PORT), PortRange("UDP", 1, MAX_PORT))


class Port(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """An entry of `ports`, as it is written."""

    protocol: Protocol
    port: int | None = None
    end_port: int | None = None
    name: Annotated[str, msgspec.Meta(min_length=1, max_length=63)] | None = None
    type: int | None = None
    """Of ICMP."""

    @property
    def range(self) -> PortRange:
        """The ports that it means."""
        if self.name is not None:
            return PortRange(self.protocol, 0, 0, self.name)
        first = self.port or self.type or 0
        return PortRange(self.protocol, first, self.end_port or first)


class ServiceName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A Service; without `namespace`, one of the allowlist's own."""

    name: _Text
    namespace: _Text | None = None


class PodsSelector(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Pods of one namespace, or of those with labels; without either, of the allowlist's own."""

    namespace: _Text | None = None
    namespace_selector: LabelSelector | None = None
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
    all_ports: Literal[True] | None = None
    """In place of `ports`: every one of TCP and UDP; of a Service, every one that it has."""

    @property
    def kind(self) -> str:
        """The field that says what it is."""
        return next(name for name, value in kind_fields(self) if value is not None)

    @property
    def ranges(self) -> tuple[PortRange, ...]:
        """Its ports, sorted."""
        if self.all_ports:
            return EVERY_PORT
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
    by_labels = entry.pods.namespace_selector if entry.pods is not None else None
    requirements_of(by_labels, field=f"{path}.namespaceSelector", what=what)
    if named is not None and named.namespace is not None:
        require_match(LABEL, named.namespace, f"{path}.namespace", what, "the name of a namespace")
        if by_labels is not None:
            message = "goes without namespace: remove one of them"
            raise InvalidObjectError(what, f"{path}.namespaceSelector", message)
    elif shared and by_labels is None:
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
    if entry.all_ports and entry.ports is not None:
        raise InvalidObjectError(what, f"{path}.ports", "goes without allPorts: remove one of them")
    if (entry.ports is None and not entry.all_ports) != (entry.destinations is not None):
        if entry.destinations is None:
            raise InvalidObjectError(what, f"{path}.ports", "is missing: name the ports")
        field = "ports" if entry.ports is not None else "allPorts"
        raise InvalidObjectError(what, f"{path}.{field}", "are the set's: remove it")
    for index, port in enumerate(entry.ports or ()):
        _check_port(port, f"{path}.ports[{index}]", what, entry)
    for (_, one), (index, other) in combinations(enumerate(entry.ports or ()), 2):
        a, b = one.range, other.range
        same = (a.protocol, a.name) == (b.protocol, b.name)
        if same and a.first <= b.last and b.first <= a.last:
            message = f"{b} overlaps {a}: name each port once"
            raise InvalidObjectError(what, f"{path}.ports[{index}]", message)


def _check_port(port: Port, field: str, what: str, entry: Destination) -> None:
    wanted = "type" if port.protocol in ICMP else "port or name"
    said = {"port": port.port, "name": port.name, "type": port.type}
    named = [name for name, value in said.items() if value is not None]
    if len(named) != 1 or named[0] not in wanted.split(" or "):
        found = f"has {' and '.join(named)}" if named else "names no port"
        message = f"{found}: {port.protocol} takes one {wanted}"
        raise InvalidObjectError(what, field, message)
    if port.port is not None and not 1 <= port.port <= MAX_PORT:
        message = f"{port.port} must be between 1 and {MAX_PORT}"
        raise InvalidObjectError(what, f"{field}.port", message)
    if port.end_port is not None:
        _check_end(port, f"{field}.endPort", what)
    if port.name is not None:
        require_match(_PORT_NAME, port.name, f"{field}.name", what, "the name of a port")
        if entry.pods is None and entry.service is None:
            message = "goes with pods and service, which give ports names: write a number"
            raise InvalidObjectError(what, f"{field}.name", message)
    if port.type is not None:
        _check_type(port.type, f"{field}.type", what, entry)


def _check_end(port: Port, field: str, what: str) -> None:
    if port.port is None:
        raise InvalidObjectError(what, field, "goes with port: remove it")
    if port.end_port is not None and not port.port < port.end_port <= MAX_PORT:
        message = f"{port.end_port} must be after port {port.port}, and at most {MAX_PORT}"
        raise InvalidObjectError(what, field, message)


def _check_type(of: int, field: str, what: str, entry: Destination) -> None:
    if not 0 <= of <= MAX_ICMP_TYPE:
        message = f"{of} must be between 0 and {MAX_ICMP_TYPE}"
        raise InvalidObjectError(what, field, message)
    if entry.service is not None:
        message = "a Service sends no ICMP to its Pods: name the Pods (`pods`)"
        raise InvalidObjectError(what, field, message)


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
    """Merged; each protocol's, and each name, are a version of their own."""

    @classmethod
    def of(cls, entry: Destination) -> "_Comparable":
        whole = msgspec.json.encode(msgspec.structs.replace(entry, ports=None, all_ports=None))
        addresses: list[Span] = []
        if entry.cidr is not None:
            holes = (span_of(network_of(each)) for each in entry.except_ or ())
            addresses = subtract_spans(span_of(network_of(entry.cidr)), holes)
        return cls(addresses, whole, merge_ports(entry.ranges))

    def covers(self, other: "_Comparable") -> bool:
        if self.addresses and other.addresses:
            reaches = are_within(other.addresses, self.addresses)
        else:
            reaches = self.whole == other.whole
        return reaches and are_within(other.ports, self.ports)


def merge_ports(ranges: Iterable[PortRange]) -> list[Span]:
    """Return ports as spans, merged; each protocol's, and each name, are a version of their own.

    So they compare with those of any other call.
    """
    return merge_spans(
        Span(_version_of(each.protocol, each.name), each.first, each.last) for each in ranges
    )


def _version_of(protocol: Protocol, name: str) -> int:
    """Return the same number for the same protocol and name, and another for any others."""
    return int.from_bytes(f"{protocol} {name}".encode())
