"""Destinations of egress: what an entry of `spec.to` says. Pure.

Both kinds that have such entries are in `core.egress.allowlists`; the CRDs say what each field
means.
"""

from collections.abc import Iterator
from typing import Annotated, Final, Literal

import msgspec

from core.kubernetes.label_selectors import LabelSelector

MAX_ENTRIES: Final = 64
MAX_PORTS: Final = 32
MAX_PORT: Final = 65_535
MAX_NETWORKS: Final = 64

Protocol = Literal["TCP", "UDP", "SCTP"]


_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=253)]
_Networks = Annotated[list[str], msgspec.Meta(min_length=1, max_length=MAX_NETWORKS)]


class PortRange(msgspec.Struct, frozen=True, order=True, gc=False):
    """Ports of a protocol, from the first to the last."""

    protocol: Protocol
    first: int
    last: int

    def holds(self, other: "PortRange") -> bool:
        """Say whether it has all ports of another."""
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
        return next(name for name, value in kinds(self) if value is not None)

    @property
    def ranges(self) -> tuple[PortRange, ...]:
        """Its ports, sorted."""
        return tuple(sorted(port.range for port in self.ports or ()))


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


def kinds(entry: Destination) -> Iterator[tuple[str, object]]:
    """Yield each field that can say what an entry is, and what it says."""
    yield "dnsName", entry.dns_name
    yield "cidr", entry.cidr
    yield "serviceTag", entry.service_tag
    yield "service", entry.service
    yield "pods", entry.pods
    yield "destinations", entry.destinations
