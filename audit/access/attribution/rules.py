"""An installation's rules of attribution: how its Pods call storage, how much clocks may differ."""

import ipaddress
from dataclasses import dataclass
from typing import Final, Literal

from audit.access.model.defaults import TOKEN_LIFETIME_S
from core.base.networks import Network
from core.base.short_text_cache import cache_short_texts

SKEW_S: Final = 300.0
"""By which Entra ID and storage let the times of a token be wrong."""

CLOCK_S: Final = 10.0
"""By which storage's clock and those of kubelets may differ: both follow Azure's hosts, which keep
within a second; the end of a Pod is noted to the second, some seconds after the last packet."""

LeavesAs = Literal["either", "pod", "node"]


@dataclass(frozen=True)
class AttributionRules:
    """Of one cluster. Equal for all accesses of an ingest."""

    lifetime_s: float = TOKEN_LIFETIME_S
    skew_s: float = SKEW_S
    clock_s: float = CLOCK_S
    leaves_as: LeavesAs = "either"
    """Which address storage sees of a Pod: with a flat CNI `pod`, with an overlay `node`. With
    `pod`, a node's address is that of Pods of its network only, and of its CSI drivers."""
    shared: tuple[Network, ...] = ()
    """NAT gateways, firewalls and proxies, behind which anybody may be."""
    node_identities: frozenset[str] = frozenset()
    """Client ids and object ids of kubelets, as which CSI drivers mount."""

    def is_shared(self, address: str) -> bool:
        """Return whether an address tells nothing of who is behind it."""
        return bool(self.shared) and _lies_in(address, self.shared)


ORDINARY: Final = AttributionRules()
"""Those of an installation that says nothing."""


@cache_short_texts(65_536, longest=64)
def _lies_in(address: str, networks: tuple[Network, ...]) -> bool:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return False
    return any(found.version == each.version and found in each for each in networks)
