"""Reserved ranges, which only an entry of their own opens, and networks without them. Pure."""

from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network
from typing import Final

from core.base.networks import Network, any_holds, collapse, holds, network_of, subtract
from egress.model.openings import Block

_NAT64: Final = IPv6Network("64:ff9b::/96")
"""IPv6 addresses that a translator leads to IPv4 ones (RFC 6052, 2.1)."""


def with_translated(networks: Iterable[Network]) -> tuple[Network, ...]:
    """Return networks, and the IPv6 ones by which a translator leads to those of IPv4."""
    networks = tuple(networks)
    base = int(_NAT64.network_address)
    translated = [
        IPv6Network((base + int(each.network_address), _NAT64.prefixlen + each.prefixlen))
        for each in networks
        if isinstance(each, IPv4Network)
    ]
    return collapse((*networks, *translated))


ALWAYS_RESERVED: Final = with_translated(
    network_of(text)
    for text in (
        "0.0.0.0/8",  # RFC 1122, 3.2.1.3: this host.
        "127.0.0.0/8",  # Loopback.
        "168.63.129.16/32",  # Azure's wire server.
        "169.254.0.0/16",  # Link-local; 169.254.169.254 is each cloud's metadata.
        "224.0.0.0/4",  # Multicast.
        "240.0.0.0/4",  # RFC 1112, 4: reserved; its last is broadcast.
        "::/128",
        "::1/128",
        "fd00:ec2::/64",  # Amazon's metadata, ::254 in it.
        "fd20:ce::254/128",  # Google's metadata.
        "fe80::/10",
        "ff00::/8",
    )
)
"""Whatever a cluster looks like; facts and sources in docs/operate/egress.md.

Without IPv4-mapped addresses, which never travel: kube-apiserver takes no policy that has them, as
`except` neither (apimachinery pkg/util/validation/ip.go, and `isCIDR` of CEL).
"""

PRIVATE: Final = tuple(
    map(
        network_of,
        (
            *("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),  # RFC 1918.
            "100.64.0.0/10",  # RFC 6598: of carriers, and of many clouds' own networks.
            "fc00::/7",  # RFC 4193.
        ),
    )
)
"""What is somebody's own network: who owns a public name could lead it to any machine there."""

PRIVATE_OR_TRANSLATED: Final = with_translated(PRIVATE)
"""The same, and what a translator leads there."""

METADATA: Final = tuple(
    map(
        network_of,
        ("169.254.169.254/32", "168.63.129.16/32", "fd00:ec2::254/128", "fd20:ce::254/128"),
    )
)
"""The clouds' metadata services and Azure's wire server, each of which is in a range above."""


def blocks_of(
    networks: Iterable[Network], reserved: Sequence[Network], without: Sequence[Network] = ()
) -> tuple[Block, ...]:
    """Return the addresses that networks open: collapsed, less `without` and reserved ranges.

    Reserved ranges are left out whether a network holds them or lies in them.
    """
    return tuple(
        block
        for network in collapse(networks)
        if not any_holds(reserved, network)
        and (block := _less(network, (*without, *reserved))) is not None
    )


def named_block(
    network: Network, reserved: Sequence[Network], without: Sequence[Network] = ()
) -> Block | None:
    """Return the part of a written network that it opens; None where nothing is left of it.

    One that lies in a reserved range, all of it, names that range: it is open as written.
    """
    outside = [each for each in reserved if not holds(each, network)]
    return _less(network, (*without, *outside))


def _less(network: Network, holes: Iterable[Network]) -> Block | None:
    inside = collapse(each for each in holes if holds(network, each))
    if inside and not subtract(network, inside):
        return None
    return Block(network, inside)


EVERYWHERE_ELSE: Final = blocks_of(map(network_of, ("0.0.0.0/0", "::/0")), ALWAYS_RESERVED)
"""Every address but those that are reserved everywhere, in IPv4 and in IPv6."""
