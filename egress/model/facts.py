"""The facts of a cluster by which allowlists are compiled: one snapshot of them.

`control` makes it from the cluster, the command line also from files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

import msgspec

from core.base.networks import Network
from core.egress.allowlists import EgressDestinations
from core.egress.destinations import PortRange
from core.kubernetes.label_selectors import Requirements
from egress.model.openings import Backend, Block
from egress.model.reserved_ranges import ALWAYS_RESERVED, blocks_of, with_translated


class ResolvedName(msgspec.Struct, frozen=True):
    """What is known of a DNS name."""

    addresses: tuple[Network, ...] = ()
    """Those that may be opened, as single addresses, collapsed."""
    dropped: tuple[str, ...] = ()
    """Addresses that it resolves to and that stay closed, each with the reason; for people."""
    problem: str = ""
    """Why there may be more, or none: no answer yet, servers that fail, too many addresses."""
    learning: str = ""
    """How many connections are refused because more addresses come than are known yet; empty once
    the name is learnt."""
    aliases: tuple[str, ...] = ()
    """Names that it leads through (CNAME)."""


class NameSource(Protocol):
    """What has been learnt of DNS names."""

    def resolved(self, name: str, within: Sequence[Network]) -> ResolvedName:
        """Return the addresses of a name (no pattern).

        With `within`, only there, reserved or not.
        """


class TagSource(Protocol):
    """Service tags, by a file of the operator's."""

    def networks(self, tag: str) -> tuple[Network, ...] | str:
        """Return a tag's networks, collapsed; or why there are none, for a person."""

    def warning(self, tag: str) -> str:
        """Return a warning for those who open it; empty where there is none."""

    def shared_by(self, network: Network) -> str:
        """Return a tag of all tenants that has addresses in a network; empty where none has."""


class KnownService(msgspec.Struct, frozen=True):
    """What is known of a Service."""

    selector: Requirements = ()
    external_name: str = ""
    """The DNS name that it stands for (ExternalName): whoever writes the Service chooses it, so it
    is open only where an intent names it as a DNS name."""
    ports: Mapping[PortRange, tuple[Backend, ...]] = {}
    """For each port of the Service: the live Pods that it sends to, and on which ports."""
    port_names: Mapping[tuple[str, str], PortRange] = {}
    """Ports of the Service by protocol and name."""
    portless: tuple[Network, ...] | None = None
    """Of the live Pods behind a headless Service that names no ports, which is reached on all of
    them, as single addresses, collapsed; None for a Service with ports."""
    dropped: tuple[str, ...] = ()
    """Addresses of its EndpointSlices that belong to no live Pod of its namespace; for people."""
    is_api_server: bool = False
    """Whether it is kube-apiserver's: behind it are no Pods, but the addresses that it tells."""


class _NoNames:
    def resolved(self, name: str, within: Sequence[Network]) -> ResolvedName:
        del within
        return ResolvedName(problem=f"{name} has not been resolved")


class _NoTags:
    def networks(self, tag: str) -> tuple[Network, ...] | str:
        return f"{tag} is not known: the operator has given no file of service tags (egress.tags)"

    def warning(self, tag: str) -> str:
        del tag
        return ""

    def shared_by(self, network: Network) -> str:
        del network
        return ""


NO_TAGS: Final[TagSource] = _NoTags()
"""For an installation whose operator gave no file."""


@dataclass(frozen=True)
class CompilerFacts:
    """One snapshot; what is derived of it is remembered with it."""

    now: float
    """Unix seconds, by which allowlists expire."""
    sets: Mapping[str, EgressDestinations] = field(default_factory=dict)
    usable: frozenset[tuple[str, str, str]] = frozenset()
    """Namespace, service account and set, where the one may `use` the other there."""
    unapproved: Mapping[str, str] = field(default_factory=dict)
    """Why what needs approval has none, by UID, of allowlists and of sets."""
    approved: frozenset[str] | None = frozenset()
    """What two people have approved as it is, by UID, of allowlists and of sets; None where nothing
    needs it."""
    services: Mapping[tuple[str, str], KnownService] = field(default_factory=dict)
    """By namespace and name."""
    names: NameSource = field(default_factory=_NoNames)
    tags: TagSource = NO_TAGS
    ranges: tuple[Network, ...] = ()
    """The cluster's own: of Pods, Services and nodes; opened only where an intent names them."""
    _tag_blocks: dict[str, tuple[Block, ...] | str] = field(default_factory=dict, compare=False)

    @property
    def reserved(self) -> tuple[Network, ...]:
        """What no broader network opens."""
        return (*ALWAYS_RESERVED, *with_translated(self.ranges))

    def tag(self, name: str) -> tuple[Block, ...] | str:
        """Return the networks of a service tag, or why it opens nothing. Worked out once."""
        if name not in self._tag_blocks:
            networks = self.tags.networks(name)
            found = networks if isinstance(networks, str) else blocks_of(networks, self.reserved)
            self._tag_blocks[name] = found
        return self._tag_blocks[name]
