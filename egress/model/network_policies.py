"""NetworkPolicies of networking.k8s.io/v1, as they are written. Pure.

Fields mean what the comments of k8s.io/api networking/v1 types.go say.
"""

from collections.abc import Iterator
from typing import Final

import msgspec

from core.base.networks import Span, parse_network, span_of, subtract_spans
from core.egress.destinations import MAX_PORT, PortRange, TransportProtocol
from core.kubernetes.label_selectors import LabelSelector

KIND: Final = "NetworkPolicy"


class Block(msgspec.Struct, frozen=True, rename={"except_": "except"}):
    """`ipBlock`: addresses, less those of `except`."""

    cidr: str
    except_: list[str] | None = None

    def spans(self, field: str) -> list[Span]:
        """Return its addresses.

        Raises:
            InvalidObjectError: a network is none, or is not in its canonical form.
        """
        holes = [
            parse_network(each, field=f"{field}.except[{index}]", what=KIND)
            for index, each in enumerate(self.except_ or ())
        ]
        whole = parse_network(self.cidr, field=f"{field}.cidr", what=KIND)
        return subtract_spans(span_of(whole), map(span_of, holes))


class Peer(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of `to` or `from`."""

    pod_selector: LabelSelector | None = None
    namespace_selector: LabelSelector | None = None
    ip_block: Block | None = None


class PortName(msgspec.Struct, frozen=True, order=True, gc=False):
    """A port by its name: the one that the target Pod declares under it, if it declares one."""

    protocol: TransportProtocol
    name: str

    @property
    def widest(self) -> PortRange:
        """All that it can mean."""
        return PortRange(self.protocol, 1, MAX_PORT)

    def __str__(self) -> str:
        """Write it as `TCP http`."""
        return f"{self.protocol} {self.name}"


class Port(msgspec.Struct, frozen=True, rename="camel"):
    """An entry of `ports`."""

    protocol: TransportProtocol | None = None
    port: int | str | None = None
    end_port: int | None = None

    @property
    def meaning(self) -> PortRange | PortName:
        """The ports that it means; without a protocol those of TCP."""
        protocol = self.protocol or "TCP"
        if isinstance(self.port, str):
            return PortName(protocol, self.port)
        if self.port is None:
            return PortRange(protocol, 1, MAX_PORT)
        return PortRange(protocol, self.port, self.end_port or self.port)


class EgressEntry(msgspec.Struct, frozen=True):
    """An entry of `egress`."""

    to: list[Peer] | None = None
    ports: list[Port] | None = None


class EgressSpec(msgspec.Struct, frozen=True, rename="camel"):
    """What of `spec` decides what is open on the way out."""

    pod_selector: LabelSelector | None = None
    egress: list[EgressEntry] | None = None


def selectors_of(spec: EgressSpec) -> Iterator[LabelSelector | None]:
    """Yield the selectors of Pods and namespaces that decide about egress."""
    yield spec.pod_selector
    for rule in spec.egress or ():
        for peer in rule.to or ():
            yield peer.pod_selector
            yield peer.namespace_selector
