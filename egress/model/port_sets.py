"""Sets of ports of all protocols: what may be connected to. Pure."""

from collections.abc import Iterable
from typing import Final

import msgspec

from core.base.networks import Span, merge_spans
from core.egress.destinations import MAX_PORT, PortRange, TransportProtocol

_PROTOCOLS: Final[tuple[TransportProtocol, ...]] = ("TCP", "UDP", "SCTP")

NO_CONNECTIONS: Final = "No Connections"
ALL_CONNECTIONS: Final = "All Connections"


class PortSet(msgspec.Struct, frozen=True, gc=False):
    """Ports, as merged spans; a protocol's are a version of their own. Equal sets are equal."""

    spans: tuple[Span, ...] = ()

    @classmethod
    def of(cls, ranges: Iterable[PortRange]) -> "PortSet":
        """Return the ports of ranges."""
        spans = (Span(_PROTOCOLS.index(each.protocol), each.first, each.last) for each in ranges)
        return cls(tuple(merge_spans(spans)))

    def __bool__(self) -> bool:
        """Return whether there is any."""
        return bool(self.spans)

    def union(self, other: "PortSet") -> "PortSet":
        """Return the ports of either."""
        if self == other or not other:
            return self
        return PortSet(tuple(merge_spans((*self.spans, *other.spans))))

    def intersection(self, other: "PortSet") -> "PortSet":
        """Return the ports of both."""
        if self in {other, EVERY_PORT}:
            return other
        if other == EVERY_PORT:
            return self
        return PortSet(
            tuple(
                Span(one.version, max(one.first, two.first), min(one.last, two.last))
                for one in self.spans
                for two in other.spans
                if one.version == two.version and one.first <= two.last and two.first <= one.last
            )
        )

    def __str__(self) -> str:
        """Write it as `TCP 80,443,UDP 53`, `All Connections` or `No Connections`."""
        if self == EVERY_PORT:
            return ALL_CONNECTIONS
        found = [
            f"{protocol} {','.join(ports)}"
            for index, protocol in enumerate(_PROTOCOLS)
            if (ports := [_written(each) for each in self.spans if each.version == index])
        ]
        return ",".join(sorted(found)) or NO_CONNECTIONS


def _written(span: Span) -> str:
    return str(span.first) if span.first == span.last else f"{span.first}-{span.last}"


NO_PORT: Final = PortSet()
EVERY_PORT: Final = PortSet.of(PortRange(protocol, 1, MAX_PORT) for protocol in _PROTOCOLS)
