"""What the allowlists of a namespace open, whatever engine enforces it.

`egress.compiler` makes it, `egress.render` writes it in an engine's words. All of it is sorted
and says each thing once: equal openings have equal values.
"""

from collections.abc import Mapping

import msgspec

from core.base import names
from core.base.networks import Network
from core.egress.destinations import PortRange
from core.kubernetes.label_selectors import (
    Requirement,
    Requirements,
    matches,
    may_overlap,
    sort_requirements,
)


class Block(msgspec.Struct, frozen=True, gc=False):
    """Addresses: a network, less others that lie inside it."""

    network: Network
    excepts: tuple[Network, ...] = ()


class Addresses(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Addresses outside of the cluster's Pods, or what an intent names by address."""

    blocks: tuple[Block, ...]
    """Never empty: what has no address is no opening."""


class Name(msgspec.Struct, frozen=True, tag=True, gc=False):
    """A DNS name, for engines that know names; the others go by the addresses learnt of it."""

    pattern: str
    """`packages.example.org`; `*.example.org` for one or more labels before it; `gpu-*.example.org`
    for any letters in one; `*` for all."""
    addresses: tuple[Network, ...]
    """What it resolves to, as single addresses, collapsed; empty where nothing is known, and for
    patterns, which nobody can resolve."""
    pinned: bool = False
    """Whether only these addresses may be opened, though the engine knows names."""


class Backend(msgspec.Struct, frozen=True, order=True, gc=False):
    """Pods behind a Service that listen on the same ports."""

    ports: tuple[PortRange, ...]
    """Of the Pods, not of the Service: policies see packets after they were sent on."""
    addresses: tuple[Network, ...]
    """Of live Pods only, as single addresses, collapsed; never empty."""


class Service(msgspec.Struct, frozen=True, tag=True, gc=False):
    """The live Pods behind a Service."""

    namespace: str
    name: str
    selector: Requirements
    """What it selects Pods by; empty where it selects none, and endpoints are written by others."""
    backends: tuple[Backend, ...]
    is_api_server: bool = False
    """Whether kube-apiserver is behind it, by its addresses, and no Pods."""


class Pods(msgspec.Struct, frozen=True, tag=True, gc=False):
    """Pods of a namespace, or of several, whatever their addresses."""

    namespace: str
    """Empty where `namespaces` says which."""
    requirements: Requirements = ()
    """What their labels must be; empty for all Pods of the namespace."""
    namespaces: Requirements | None = None
    """What the labels of their namespaces must be; none of them for every namespace."""

    def has_namespace(self, name: str, labels: Mapping[str, str]) -> bool:
        """Return whether it means Pods of a namespace with these labels."""
        if self.namespaces is None:
            return self.namespace == name
        return matches(self.namespaces, {**labels, names.NAMESPACE_NAME_LABEL: name})

    def may_have_namespace(self, name: str) -> bool:
        """Return whether it may mean Pods of a namespace whose other labels are not known."""
        if self.namespaces is None:
            return self.namespace == name
        named = (Requirement(names.NAMESPACE_NAME_LABEL, "In", (name,)),)
        return may_overlap(self.namespaces, named)


Peer = Addresses | Name | Service | Pods


class Opening(msgspec.Struct, frozen=True, gc=False):
    """Connections that are open: from Pods of the namespace, to a peer, on ports."""

    allowlist: str
    """The EgressAllowlist that says so."""
    path: str
    """Where in it: `spec.to[2]`; with the place in the set that it refers to, if it does:
    `spec.to[2] (EgressDestinations pypi: spec.to[0])`."""
    selects: Requirements
    """Which Pods of the namespace: by the gate's labels, and by the author's beside them."""
    peer: Peer
    ports: tuple[PortRange, ...]
    """Never empty. With a Service: of the Service; its backends have those of the Pods."""


def opens_nothing(opening: Opening, *, learns_names: bool) -> bool:
    """Return whether nothing is open by an opening yet: it waits for Pods, or for addresses.

    `learns_names` says whether the engine learns addresses of names by itself.
    """
    match opening.peer:
        case Service(backends=backends):
            return not backends
        case Name(_, addresses, pinned):
            return not addresses and (pinned or not learns_names)
        case _:
            return False


class Problem(msgspec.Struct, frozen=True, order=True, gc=False):
    """What of an allowlist is not open though it says so, or what somebody should know of it."""

    allowlist: str
    path: str
    reason: str
    """In CamelCase, for conditions and metrics: `NotApproved`, `NoAddresses`, `Expired` …"""
    message: str
    """What is wrong, and what to do."""
    closes: bool = True
    """Whether something stays closed by it; else it is a warning."""


class CompiledAllowlists(msgspec.Struct, frozen=True):
    """What all allowlists of a namespace mean together."""

    namespace: str
    openings: tuple[Opening, ...] = ()
    problems: tuple[Problem, ...] = ()
    selects: Requirements = ()
    """Which Pods of the namespace are closed; none of them for all. No policy is about others."""
    opened: Requirements | None = None
    """Which of those a BreakGlass opens to all but `ALWAYS_RESERVED`: `()` for all of them, None
    for none."""
    spared: tuple[Opening, ...] = ()
    """Openings beside that policies have already: nothing is written of them, and guards deny
    nothing that they name."""

    @property
    def open_pods(self) -> Requirements | None:
        """Which Pods of the namespace a BreakGlass opens; None for none."""
        if self.opened is None:
            return None
        return sort_requirements((*self.selects, *self.opened))

    def narrowed(self, selects: Requirements) -> "CompiledAllowlists":
        """Return the same for the Pods of a selector alone; for all where it demands nothing.

        Without openings that are surely of other Pods.
        """
        if not selects:
            return self
        openings = (
            msgspec.structs.replace(each, selects=sort_requirements((*each.selects, *selects)))
            for each in self.openings
            if may_overlap(each.selects, selects)
        )
        return msgspec.structs.replace(self, openings=tuple(openings), selects=selects)

    def with_opened(self, opened: Requirements | None) -> "CompiledAllowlists":
        """Return the same, with Pods that a BreakGlass opens."""
        return msgspec.structs.replace(self, opened=opened)

    def of(self, allowlist: str) -> tuple[Opening, ...]:
        """Return the openings of one allowlist."""
        return tuple(each for each in self.openings if each.allowlist == allowlist)
