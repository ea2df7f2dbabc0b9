"""Where the address of a caller lies, by lists of networks that the operator gives. Pure."""

import ipaddress
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from core.base.networks import Address, Network, network_of, span_of
from core.base.short_text_cache import cache_short_text
from core.weights.documents.access import Caller

_REMEMBERED: Final = 65_536
"""Addresses whose place is remembered: the Pods and nodes of 7,500 nodes."""

_MOST_TEXT: Final = 64

PRIVATE: Final = tuple(
    network_of(text)
    for text in (
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "168.63.129.16/32",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "::1/128",
        "fc00::/7",
        "fe80::/10",
    )
)
"""RFC 1918, 6598, 3927, 4193, 4291, and the address of Azure's platform: none can be reached from
the internet. That one calls from such an address proves no private endpoint."""


@dataclass(frozen=True, slots=True)
class CallerNetworks:
    """The operator's lists; where two hold an address, the smaller network counts."""

    pods: tuple[Network, ...] = ()
    """With CNI Overlay none: Pods call from their node's address."""
    nodes: tuple[Network, ...] = ()
    networks: tuple[Network, ...] = ()
    """Other virtual networks, and addresses of NAT gateways."""


class CallerLocator:
    """Says where addresses lie."""

    def __init__(self, networks: CallerNetworks = CallerNetworks()) -> None:
        """Take the lists; they are put in order once."""
        listed = (
            *((network, Caller.PRIVATE) for network in PRIVATE),
            *((network, Caller.NETWORK) for network in networks.networks),
            *((network, Caller.NODE) for network in networks.nodes),
            *((network, Caller.POD) for network in networks.pods),
        )
        self._spans = {version: _Spans(listed, version) for version in (4, 6)}
        self.place = cache_short_text(_REMEMBERED, longest=_MOST_TEXT)(self._place)
        """Gives an address in its canonical form, and where it lies; empty where it is none."""

    def of(self, text: str) -> tuple[str, Caller]:
        """Read `callerIpAddress`: an address with or without a port, of either version."""
        head, colon, port = text.rpartition(":")
        if colon and port.isdigit() and (":" not in head or head[:1] == "["):
            text = head
        return self.place(text)

    def _place(self, text: str) -> tuple[str, Caller]:
        address = _read(text)
        if address is None:
            return "", Caller.NONE
        return str(address), self._spans[address.version].of(int(address))


def _read(text: str) -> Address | None:
    """Return an address; one that hides an IPv4 address (`::ffff:10.0.0.1`) is that one."""
    if text[:1] == "[" and text[-1:] == "]":
        text = text[1:-1]
    if len(text) > _MOST_TEXT:
        return None
    try:
        address = ipaddress.ip_address(text.strip().partition("%")[0])
    except ValueError:
        return None
    hidden = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return hidden or address


class _Spans:
    """Networks of one version, taken apart so that none overlaps."""

    def __init__(self, listed: Iterable[tuple[Network, Caller]], version: int) -> None:
        spans = [(span_of(network), caller) for network, caller in listed]
        mine = [(span, caller) for span, caller in spans if span.version == version]
        # Larger ones first: what comes later is painted over them. The order of lists is kept.
        mine.sort(key=lambda one: -one[0].size)
        ends = {span.first for span, _ in mine} | {span.last + 1 for span, _ in mine}
        self._starts: Sequence[int] = sorted(ends | {0})
        kinds = dict.fromkeys(self._starts, Caller.PUBLIC)
        for span, caller in mine:
            at = bisect_right(self._starts, span.first) - 1
            while at < len(self._starts) and self._starts[at] <= span.last:
                kinds[self._starts[at]] = caller
                at += 1
        self._kinds = [kinds[start] for start in self._starts]

    def of(self, number: int) -> Caller:
        return self._kinds[bisect_right(self._starts, number) - 1]
