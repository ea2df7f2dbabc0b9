"""Which destinations are so broad that two people must approve them. Pure.

What counts is what entries reach together: two halves of the Internet are the Internet, also in two
allowlists. The gate refuses the second as it is written; of two that are written in the same moment
the controller opens the older, and no more than the limit allows.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from ipaddress import summarize_address_range
from typing import Final, Literal, NamedTuple

from core.base import names
from core.base.networks import (
    Network,
    Span,
    any_holds,
    merge_spans,
    network_at,
    network_of,
    span_of,
    subtract_spans,
)
from core.egress.allowlists import EgressAllowlist
from core.egress.destinations import EVERY_PORT, MAX_PORT, Destination, PortRange, merge_ports
from core.egress.dns_names import ANY, is_wildcard, labels_after_wildcard
from core.kubernetes.label_selectors import requirements_of
from egress.dns.usable_addresses import leads_to, lies_in
from egress.limits.shared_destinations import (
    is_shared_tag,
    name_sharing_warning,
    network_sharing_warning,
)
from egress.model.facts import NameSource, ResolvedName, TagSource
from egress.model.reserved_ranges import ALWAYS_RESERVED, PRIVATE

Approve = Literal["all", "broad", "none"]

_BITS: Final = {4: 32, 6: 128}
_LAST: Final = 2**32 - 1

_NAT64: Final = tuple(
    span_of(network_of(text))
    for text in (
        "64:ff9b::/96",  # RFC 6052, 2.1.
        "64:ff9b:1::/48",  # RFC 8215: one's own, with a /96 in it.
    )
)


@dataclass(frozen=True)
class Limits:
    """How broad destinations may be without approval; the operator sets it (`egress.limits`)."""

    ipv4_prefix: int = 16
    """All of an object's IPv4 networks together hold at most as many addresses as one of these."""
    ipv6_prefix: int = 48
    """The same of IPv6: what one site usually has (RFC 6177)."""
    wildcard_labels: int = 2
    """A wildcard has at least so many labels after it: `*.example.com` has two."""
    service_tags: frozenset[str] = frozenset({"AzureCloud", "Internet"})
    """Tags that always need approval, whatever the file says of their size."""
    ports: int = 4096
    """All of an object's ports outside its own namespace are together at most so many of a
    protocol."""
    own: tuple[Network, ...] = ()
    """The cluster's own networks: with an address there whoever has it is within reach, a kubelet
    in nodes' subnets, any Pod in those of Pods."""
    approve: Approve = "broad"
    """What two people approve: all, what is broader than this, or nothing."""

    def prefix(self, version: int) -> int:
        """Return the limit of an IP version, 4 or 6."""
        return {4: self.ipv4_prefix, 6: self.ipv6_prefix}[version]


class Breadth(NamedTuple):
    """How much entries reach by themselves."""

    spans: list[Span]
    """See `reach_of`."""
    reasons: tuple[str, ...]
    """See `breadth_reasons`."""


def breadth_reasons(
    entries: Iterable[Destination], limits: Limits, tags: TagSource
) -> tuple[str, ...]:
    """Say for a person what of entries is broader than the limits; empty if nothing is.

    What a set that they refer to holds is the set's: it is approved by itself.
    """
    return measure(entries, limits, tags).reasons


def measure(entries: Iterable[Destination], limits: Limits, tags: TagSource) -> Breadth:
    """Return the breadth of entries, and the reasons why it exceeds the limits."""
    entries = tuple(entries)
    said = merge_spans(span for entry in entries for span in _spans(entry, tags))
    spans = _with_translated(said)
    if limits.approve == "none":
        return Breadth(spans, ())
    if limits.approve == "all":
        return Breadth(spans, ("every allowlist and set is approved here (egress.approve: all)",))
    many = tuple(excess_reasons(said, limits)) or tuple(
        f"{reason}, to which NAT64 leads" for reason in excess_reasons(spans, limits)
    )
    named = [reason for entry in entries for reason in _of_entry(entry, limits)]
    networks = (network_of(each.cidr) for each in entries if each.cidr is not None)
    shared = (
        f"{each} has addresses that strangers share: {who}"
        for each in networks
        if not many and (who := _sharing(each, tags))
    )
    return Breadth(spans, (*named, *shared, *many))


def _of_entry(entry: Destination, limits: Limits) -> Iterator[str]:
    """Say what of one entry two people approve, however few its addresses are."""
    if reason := _by_name(entry, limits):
        yield reason
    else:
        yield from _shared(entry)
    yield from _reserved(entry, limits)
    if entry.pods is not None and entry.pods.namespace_selector is not None:
        wanted = requirements_of(entry.pods.namespace_selector, field="", what="")
        if not any(
            each.operator == "In" and each.key == names.NAMESPACE_NAME_LABEL for each in wanted
        ):
            yield "Pods of namespaces by labels, which others may give to namespaces of theirs"


def _shared(entry: Destination) -> Iterator[str]:
    """Say which destinations strangers own too: what leaves for one may leave for all."""
    name = entry.dns_name
    if name is not None and not is_private(entry.within) and (who := name_sharing_warning(name)):
        yield f"{name}: {who}"
    if entry.service_tag is not None and is_shared_tag(entry.service_tag):
        yield f"service tag {entry.service_tag}, which every tenant shares"


def _sharing(network: Network, tags: TagSource) -> str:
    """Return who shares addresses of a network, by the operator's tags and by what CDNs publish."""
    ways = (part for ends in leads_to(network) for part in summarize_address_range(*ends))
    for each in (network, *ways):
        if tag := tags.shared_by(each):
            return f"every tenant, by service tag {tag}"
        if who := network_sharing_warning(each):
            return who
    return ""


def is_private(within: Sequence[str] | None) -> bool:
    """Return whether answers count only in private networks: a private endpoint is one's own."""
    return bool(within) and all(any_holds(PRIVATE, network_of(each)) for each in within or ())


def shared_names_reasons(
    entries: Iterable[Destination], names: NameSource, tags: TagSource
) -> tuple[str, ...]:
    """Say which names turn out to lead to what strangers share, by what was learnt of them."""
    return tuple(
        reason
        for entry in entries
        if entry.dns_name and not is_wildcard(entry.dns_name) and not is_private(entry.within)
        if (reason := shared_name_reason(entry.dns_name, names.resolved(entry.dns_name, ()), tags))
    )


def shared_name_reason(name: str, found: ResolvedName, tags: TagSource) -> str:
    """Say how a name leads to what strangers share: by an alias, or by an address; else empty."""
    for alias in found.aliases:
        if who := name_sharing_warning(alias):
            return f"{name} leads to {alias}: {who}"
    for address in found.addresses:
        if who := _sharing(address, tags):
            return f"{name} leads to {address.network_address}, which strangers share: {who}"
    return ""


def reach_of(entries: Iterable[Destination], tags: TagSource) -> list[Span]:
    """Return the addresses that entries name by CIDR, `within` and service tag, and their ports.

    All are merged; each protocol's ports are a version of their own (`merge_ports`). Reserved
    ranges count too: what is carved out of them is the cluster's choice, not the intent's. So do
    the IPv4 addresses to which a translator leads what is sent to IPv6 ones (NAT64): all of IPv4
    lies in one /96.
    """
    return _with_translated(merge_spans(span for entry in entries for span in _spans(entry, tags)))


def _with_translated(spans: list[Span]) -> list[Span]:
    return merge_spans([*spans, *(each for span in spans for each in _translated(span))])


def _translated(span: Span) -> Iterator[Span]:
    for prefix in _NAT64:
        first, last = max(span.first, prefix.first), min(span.last, prefix.last)
        if span.version != prefix.version or first > last:
            continue
        if first >> _BITS[4] == last >> _BITS[4]:
            yield Span(4, first & _LAST, last & _LAST)
        else:  # Where the IPv4 address begins anew, both parts count as whole.
            yield Span(4, 0, _LAST)


def _spans(entry: Destination, tags: TagSource) -> Iterator[Span]:
    if entry.cidr is not None:
        holes = (span_of(network_of(text)) for text in entry.except_ or ())
        yield from subtract_spans(span_of(network_of(entry.cidr)), holes)
    yield from (span_of(network_of(text)) for text in entry.within or ())
    if entry.service_tag is not None:
        found = tags.networks(entry.service_tag)
        yield from () if isinstance(found, str) else map(span_of, found)
    inside = entry.pods or entry.service
    of_own = inside is not None and not inside.namespace
    if entry.pods is not None and entry.pods.namespace_selector is not None:
        of_own = False
    if not of_own:
        yield from merge_ports(each for each in entry.ranges if not each.name)


def _by_name(entry: Destination, limits: Limits) -> str:
    if entry.service_tag is not None:
        listed = {tag.lower() for tag in limits.service_tags}
        broad = entry.service_tag.lower() in listed
        return f"service tag {entry.service_tag}" if broad else ""
    name = entry.dns_name or ""
    if name == ANY:
        return "every DNS name (*)"
    short = is_wildcard(name) and len(labels_after_wildcard(name)) < limits.wildcard_labels
    return f"{name}: fewer than {limits.wildcard_labels} labels after its wildcard" if short else ""


def _reserved(entry: Destination, limits: Limits) -> Iterator[str]:
    """Say which networks are reserved on every cluster: behind metadata is the node's identity."""
    for text in (*filter(None, (entry.cidr,)), *(entry.within or ())):
        network = network_of(text)
        ways = leads_to(network)
        if any(lies_in(network, each) for each in limits.own):
            yield f"{text} lies in the cluster's own networks (egress.ranges)"
        if any_holds(ALWAYS_RESERVED, network) or any(
            one in closed and other in closed for closed in ALWAYS_RESERVED for one, other in ways
        ):
            yield f"{text} lies in a reserved range, such as that of metadata"


def excess_reasons(spans: Sequence[Span], limits: Limits) -> Iterator[str]:
    """Say for a person why addresses, or ports, are too many; `spans` are merged."""
    if limits.approve == "none":
        return
    yield from _ports_reasons(spans, limits)
    for version, bits in _BITS.items():
        of_version = [each for each in spans if each.version == version]
        prefix = limits.prefix(version)
        if sum(each.size for each in of_version) <= 2 ** (bits - prefix):
            continue
        widest = min(map(_widest, of_version), key=lambda each: each.prefixlen)
        if widest.prefixlen < prefix:
            yield f"{widest} is broader than /{prefix}"
        else:
            yield f"its {len(of_version)} IPv{version} networks are together more than a /{prefix}"


def _ports_reasons(spans: Sequence[Span], limits: Limits) -> Iterator[str]:
    for every in (*EVERY_PORT, PortRange("SCTP", 1, MAX_PORT)):
        (whole,) = merge_ports((every,))
        count = sum(each.size for each in spans if each.version == whole.version)
        if count == whole.size:
            yield f"every port of {every.protocol}"
        elif count > limits.ports:
            yield f"its ports of {every.protocol} are together {count}, more than {limits.ports}"


def _widest(span: Span) -> Network:
    """Return the first of the largest networks that lie in a span."""
    for free in range(span.size.bit_length() - 1, 0, -1):
        size = 1 << free
        first = -(-span.first // size) * size
        if first + size - 1 <= span.last:
            return network_at(span.version, first, free)
    return network_at(span.version, span.first, 0)


def combined_breadth_reasons(
    allowlists: Iterable[EgressAllowlist],
    limits: Limits,
    tags: TagSource,
    known: Callable[[EgressAllowlist], Breadth] | None = None,
) -> dict[str, str]:
    """Say by UID why some of a namespace's allowlists may open nothing.

    Each by itself is within the limits; those that are not are none of it, since two people answer
    for each. One that adds no address is never among them. `known` gives what is measured already.
    """
    measured = (
        (each, known(each) if known else measure(each.spec.to, limits, tags)) for each in allowlists
    )
    small = [(each, found.spans) for each, found in measured if found.spans and not found.reasons]
    if not _reason([span for _, spans in small for span in spans], limits):
        return {}
    found: dict[str, str] = {}
    taken: list[Span] = []
    for each, spans in sorted(small, key=lambda one: _age(one[0])):
        if not any(subtract_spans(span, taken) for span in spans):
            continue
        if reason := _reason([*taken, *spans], limits):
            found[each.meta.uid] = (
                f"with older allowlists of the namespace: {reason}; put these networks or ports "
                "into one allowlist: two others can approve that one"
            )
        else:
            taken = merge_spans([*taken, *spans])
    return found


def _age(allowlist: EgressAllowlist) -> tuple[bool, str, str]:
    """Return the sort key by age: the oldest first, an object of no cluster last."""
    made = allowlist.meta.creation_timestamp
    return made is None, made or "", allowlist.meta.uid


def _reason(spans: list[Span], limits: Limits) -> str:
    return next(excess_reasons(merge_spans(spans), limits), "")
